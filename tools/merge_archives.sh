#!/bin/sh
# One static library of what a few objects need, with nothing visible but the names of its interface:
# merge_archives.sh LD OBJCOPY AR PATTERN OUTPUT.a INTERFACE.a ARCHIVE...
# Of INTERFACE.a everything is taken, of the other archives what is needed.
set -eu
ld=$1 objcopy=$2 ar=$3 pattern=$4 out=$5 interface=$6
shift 6
rm -f "$out"
"$ld" -r -o "$out.o" --whole-archive "$interface" --no-whole-archive --start-group "$@" --end-group
"$objcopy" --wildcard --keep-global-symbol="$pattern" "$out.o"
"$ar" rcsD "$out" "$out.o"
rm -f "$out.o"
