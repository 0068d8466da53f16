#!/bin/sh
# Fetches the npm clients of the suite `clients` into DIR/node_modules; it needs npm and its registry.
# Usage: tools/npm_clients.sh DIR, then RB_NODE_MODULES=DIR/node_modules meson test -C build --suite clients
set -eu
[ $# = 1 ] || { echo "usage: $0 DIR" >&2; exit 2; }
command -v npm >/dev/null || { echo "npm is not installed; the npm clients stay untested" >&2; exit 1; }
mkdir -p "$1"
cd "$1"
npm install --no-audit --no-fund --no-save @aws-sdk/client-ec2@3 @google-cloud/compute@6 @kubernetes/client-node@1.4.0
