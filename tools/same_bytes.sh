#!/bin/sh
# Are plans, simulations and fits the same bytes whatever built the programs? Builds them with gcc and clang, at -O0 and
# -O3, in build-same-*/ (kept, so that the next time is quick), and compares what they print and write at several numbers
# of threads. Exit code 1 on any difference, with its name. Arguments go to tests/cli/same_bytes.py, e.g. --jobs 40.
set -eu
cd "$(dirname "$0")/.."
builds=
for compiler in gcc clang; do
    for level in 0 3; do
        build=build-same-$compiler-O$level
        [ -f "$build/build.ninja" ] || CC=$compiler meson setup "$build" -Doptimization=$level -Ddebug=false >/dev/null
        ninja -C "$build" --quiet rbplan rbprofile rbsim rbrun
        builds="$builds $build"
    done
done
# shellcheck disable=SC2086
PYTHONDONTWRITEBYTECODE=1 exec python3 tests/cli/same_bytes.py --root . --jobs 12 --threads 1,2,7 "$@" $builds
