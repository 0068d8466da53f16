# Runs in a Slurm allocation, behind the lines that rbrun puts before it (rb_mailboxes, rb_hard_limit_s). POSIX sh.
# The node is reached through a mailbox on the shared filesystem, $rb_mailboxes/$SLURM_JOB_ID:
#   ready            the agent serves
#   beat             changes every few seconds for as long as it does
#   new/ID           a call being written by slurm_relay.sh: command, stdin
#   calls/ID         a whole one; then out.0, out.1, ..., err and exit of the command, and the caller's beat
# Whole files appear by renaming. Commands run in a directory of the node's own disk, as they would after a login.
set -u
umask 077
[ "${SLURM_RESTART_COUNT:-0}" -eq 0 ] || exit 1 # started again by Slurm: no controller waits for this one any more
box=$rb_mailboxes/$SLURM_JOB_ID
home=$(mktemp -d "${SLURM_TMPDIR:-${TMPDIR:-/tmp}}/rb-$SLURM_JOB_ID.XXXXXX") || exit 1
export HOME="${HOME:-$home}" RB_NODE_HOME="$home" RB_NODE_DEVICES="${CUDA_VISIBLE_DEVICES:-}"
unset CUDA_VISIBLE_DEVICES
preempted=

for_each_trial() { # calls $1 with the directory of every trial that runs
    for pid in "$home"/rb/*/trials/*/*/pid; do
        [ -e "$pid" ] && kill -s 0 -- "-$(cat "$pid")" 2>/dev/null || continue
        "$1" "${pid%/pid}"
    done
}

end_trial() { kill -s KILL -- "-$(cat "$1/pid")" 2>/dev/null || :; }

note_trial() { trials_run=1; }

ask_trial() { # when Slurm ends the node after its signal is the cluster's affair
    [ -e "$1/preempt" ] || { echo reason=preempted >"$1/why" && mv "$1/why" "$1/preempt"; }
}

leave() { # a process in a session of its own may escape Slurm
    trap '' TERM
    for_each_trial end_trial
    for call in "$home"/.calls/*/pid; do
        [ ! -e "$call" ] || kill -s KILL -- "-$(cat "$call")" 2>/dev/null || :
    done
    [ ! -e "$home/controller" ] || kill -s KILL "$(cat "$home/controller")" 2>/dev/null || : # this node is its machine
    cd /
    rm -rf "$home" "$box"
}

ship() { # what the command has printed since the last time becomes the next chunk
    size=$(wc -c <"$work/out")
    [ "$size" -gt "$sent" ] || return 1
    tail -c +$((sent + 1)) "$work/out" | head -c $((size - sent)) >"$call/out.new"
    mv "$call/out.new" "$call/out.$chunk"
    sent=$size
    chunk=$((chunk + 1))
}

abandoned() { # no one has read for a minute: the caller is dead
    looks=$((looks + 1))
    [ $((looks % 25)) -eq 0 ] || return 1
    now=$(cat "$call/beat" 2>/dev/null) || now=
    [ "$now" = "$beat" ] || { beat=$now idle=0; }
    idle=$((idle + 1))
    [ $idle -gt 12 ]
}

serve() {
    call=$1
    work=$home/.calls/${call##*/}
    mkdir -p "$work"
    mv "$call/stdin" "$work/stdin" # it may hold secrets
    : >"$work/out"
    (
        trap : TERM # it ends the command, not us: we still have to say how it ended
        cd "$home" || exit 1
        code=0
        # shellcheck disable=SC2016
        setsid sh -c 'echo $$ >"$1/pid"; eval "$2"' sh "$work" "$(cat "$call/command")" \
            <"$work/stdin" >"$work/out" 2>"$work/err" || code=$?
        echo $code >"$work/exit"
    ) &
    sent=0 chunk=0 beat='' idle=0 looks=0
    while [ -d "$call" ]; do
        over=
        [ ! -e "$work/exit" ] || over=1 # before the last look at what it printed
        ship || [ -z "$over" ] || break
        ! abandoned || break
        [ -n "$over" ] || sleep 0.2
    done
    if [ -e "$work/exit" ]; then
        tail -c 4096 "$work/err" >"$call/err"
        cp "$work/exit" "$call/exit.new" && mv "$call/exit.new" "$call/exit"
    else
        kill -s KILL -- "-$(cat "$work/pid")" 2>/dev/null
        rm -rf "$call"
    fi
    rm -rf "$work"
}

# Slurm sends this before it takes the node: trials that look for the file may still save.
on_term() {
    preempted=1
    for run in "$home"/rb/*/; do
        [ ! -d "$run" ] || ask_trial "${run%/}" # for those that start from now on
    done
    for_each_trial ask_trial
}

read_end() { # sets end; a file that is missing or damaged changes nothing
    line=
    { read -r line <"$home/.expires"; } 2>/dev/null
    case $line in
    '' | *[!0-9]*) ;;
    *) end=$line ;;
    esac
}

trap leave EXIT
trap on_term TERM
mkdir -p "$box/new" "$box/calls" "$home/.calls" || exit 1
end=$(($(date +%s) + rb_hard_limit_s))
echo "$end" >"$home/.expires" || { echo "cannot write $home/.expires: make room there, or allow writing" >&2; exit 1; }
: >"$box/ready"
tick=0
while :; do
    for waiting in "$box"/calls/*/stdin; do
        [ -e "$waiting" ] || continue
        taken=$home/.calls/$(basename "${waiting%/stdin}")
        [ -e "$taken" ] || { mkdir "$taken"; (trap - EXIT; trap : TERM; serve "${waiting%/stdin}") & }
    done
    if [ $((tick % 25)) -eq 0 ]; then
        echo $tick >"$box/beat.new" && mv "$box/beat.new" "$box/beat" || exit 1 # the mailbox is gone
        read_end
        [ "$(date +%s)" -lt "$end" ] || exit 0 # the controller is silent: the node ends itself
    fi
    if [ -n "$preempted" ]; then
        trials_run=
        for_each_trial note_trial
        [ -n "$trials_run" ] || exit 0
    fi
    tick=$((tick + 1))
    sleep 0.2
done
