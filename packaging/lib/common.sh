# Sourced by the scripts of packaging/: what they share. Each describes itself in the comment at its head, which --help prints.
# shellcheck shell=sh
root=$(cd "$(dirname "$0")/.." && pwd)
version=$(sed -n "s/^project(.* version: '\([0-9.]*\)'.*/\1/p" "$root/meson.build")
arch=$(uname -m)
out=$root/build-packages
# Same commit, same bytes: the only time in a package is its commit's, no path of the builder's is in it, and no cache is asked.
: "${SOURCE_DATE_EPOCH:=$(git -C "$root" log -1 --format=%ct)}"
export SOURCE_DATE_EPOCH LC_ALL=C.UTF-8 TZ=UTC CCACHE_DISABLE=1
umask 022

die() { echo "$(basename "$0"): $*" >&2; exit 1; }

# need PROGRAM PACKAGE: the program, or which Debian package has it.
need() { command -v "$1" >/dev/null || die "needs $1: apt-get install $2"; }

usage() { sed -n '2,/^[^#]/s/^# \{0,1\}//p' "$0"; }

# scratch: a folder in $work that goes when the script ends.
scratch() {
    work=$(mktemp -d)
    trap 'rm -rf "$work"' EXIT
    trap 'exit 130' INT TERM
}

# pack ARCHIVE FOLDER...: folders of the current one as a tar.gz whose bytes depend on their contents only.
pack() {
    pack_to=$1
    shift
    tar --sort=name --format=gnu --mtime="@$SOURCE_DATE_EPOCH" --owner=0 --group=0 --numeric-owner --mode=u+rwX,go+rX,go-w -c "$@" |
        gzip -n >"$pack_to"
}

# build FOLDER "OPTION..." TARGET...: what is committed, built in that folder.
build() {
    build_in=$1 build_options=$2
    shift 2
    mkdir -p "$work/source"
    git -C "$root" archive HEAD | tar x -C "$work/source"
    # shellcheck disable=SC2086
    CFLAGS="-O2 -ffile-prefix-map=$work/source=. -ffile-prefix-map=../source=." meson setup "$build_in" "$work/source" --prefix=/usr \
        --buildtype=plain -Dtests=false $build_options >"$work/log" 2>&1 || { cat "$work/log" >&2; die "meson setup failed"; }
    ninja -C "$build_in" "$@" >"$work/log" 2>&1 || { cat "$work/log" >&2; die "the build failed"; }
}

# libraries PROGRAM...: the shared libraries that these load, but for those of glibc, one path a line.
libraries() {
    for file in "$@"; do ldd "$file"; done | sed -n 's/^[[:space:]]*[^ ]* => \(\/[^ ]*\) .*/\1/p' | sort -u |
        grep -Ev '/(lib(c|m|dl|rt|pthread|resolv|util|mvec|anl)\.so\.[0-9]|ld-linux)'
}

# latest PATTERN HOW: the newest file of $out with such a name, or how to make one.
latest() {
    latest_file=$(find "$out" -maxdepth 1 -name "$1" -print 2>/dev/null | sort | tail -n 1)
    [ -n "$latest_file" ] || die "no $1 in $out: run $2 first, or name one"
    echo "$latest_file"
}

# made "HOW TO USE IT" FILE...: how every script ends.
made() {
    made_use=$1
    shift
    echo "Made:"
    for file in "$@"; do printf '  %s (%s KB)\n' "$file" "$(du -sk "$file" | cut -f1)"; done
    printf 'Use:\n%s\n' "$made_use" | sed '2,$s/^/  /'
}
