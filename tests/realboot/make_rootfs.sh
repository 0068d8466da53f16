#!/bin/sh
# make_rootfs.sh DIRECTORY: Debian 12 with its own systemd, D-Bus, cloud-init and sshd, for real_boot.py. Root only; needs
# debootstrap. Some 400 MB, two minutes.
set -eu
[ $# = 1 ] || { echo "usage: make_rootfs.sh DIRECTORY" >&2; exit 2; }
debootstrap --variant=minbase \
    --include=systemd,systemd-sysv,dbus,cloud-init,python3-cffi-backend,openssh-server,sudo,iproute2 \
    bookworm "$1.new" "${RB_DEBIAN_MIRROR:-http://deb.debian.org/debian}"
mkdir -p "$1.new/var/lib/cloud/seed/nocloud"
echo 'datasource_list: [NoCloud]' >"$1.new/etc/cloud/cloud.cfg.d/90-rb.cfg"
echo 'network: {config: disabled}' >>"$1.new/etc/cloud/cloud.cfg.d/90-rb.cfg"
rm -rf "$1.new/var/cache/apt/archives" "$1.new/var/lib/apt/lists"
mv "$1.new" "$1"
