# Runs the command line $2 on the node whose mailbox is $1, as ssh would: stdin, stdout, stderr and exit code are the
# command's. 255: the node cannot be reached. The other half is slurm_agent.sh.
set -u
umask 077
box=$1
ticks=0
gone() { echo "${1:-the node is gone}" >&2; exit 255; }
until [ -e "$box/ready" ]; do
    [ ! -e "$box.met" ] || gone # it has served before
    ticks=$((ticks + 1))
    if [ $ticks -gt 600 ]; then
        echo "the allocation runs, but nothing serves $box: is resources.slurm.shared_dir the same directory here and on the node? ${box%/*}/slurm-${box##*/}.out may say more" >&2
        exit 3
    fi
    sleep 0.2
done
[ -e "$box.met" ] || : >"$box.met" 2>/dev/null || :
new=$(mktemp -d "$box/new/XXXXXXXXXX" 2>/dev/null) || gone
printf '%s\n' "$2" >"$new/command" && cat >"$new/stdin" || gone
call=$box/calls/${new##*/}
mv "$new" "$call" 2>/dev/null || gone
chunk=0 ticks=0 silent=0 beat=
while :; do
    over=
    [ ! -e "$call/exit" ] || over=1 # it comes after the last chunk
    if [ -e "$call/out.$chunk" ]; then
        cat "$call/out.$chunk" || exit 255
        rm -f "$call/out.$chunk"
        chunk=$((chunk + 1))
        continue
    fi
    [ -z "$over" ] || break
    if [ $((ticks % 50)) -eq 0 ]; then
        echo $ticks 2>/dev/null >"$call/beat.new" && mv "$call/beat.new" "$call/beat" 2>/dev/null || gone
        now=$(cat "$box/beat" 2>/dev/null) || gone
        [ "$now" = "$beat" ] || { beat=$now silent=0; }
        silent=$((silent + 1))
        [ $silent -le 12 ] || gone "the node has been silent for a minute"
    fi
    ticks=$((ticks + 1))
    sleep 0.1
done
cat "$call/err" >&2
code=$(cat "$call/exit")
rm -rf "$call"
exit "$code"
