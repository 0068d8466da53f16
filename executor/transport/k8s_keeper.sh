# PID 1 of a pod, behind the line that rbrun puts before it (rb_hard_limit_s): keeps the pod until its deadline. POSIX sh,
# coreutils. Trials are started by exec in the same container; `.expires` in the home holds the instant of the deadline,
# which heartbeats move. A pod that no controller has spoken to within ten minutes ends: it got its machine too late.
set -u
umask 077
cd "$HOME" || exit 1
home=$PWD

for_each_trial() { # calls $1 with the directory of every trial that runs
    for pid in "$home"/rb/*/trials/*/*/pid; do
        [ -e "$pid" ] && kill -s 0 -- "-$(cat "$pid")" 2>/dev/null || continue
        "$1" "${pid%/pid}"
    done
}

note_trial() { trials_run=1; }

ask_trial() { [ -e "$1/preempt" ] || { echo reason=preempted >"$1/why" && mv "$1/why" "$1/preempt"; }; }

end_trial() { kill -s KILL -- "-$(cat "$1/pid")" 2>/dev/null || :; }

# The pod is to end. Trials that look for the file may still save, and what they have saved is fetched afterwards: then the
# rest of the pod's grace is theirs. Without a trial nothing is waited for.
on_term() {
    trials_run=
    for_each_trial note_trial
    [ -n "$trials_run" ] || exit 0
    for run in "$home"/rb/*/; do
        [ ! -d "$run" ] || ask_trial "${run%/}" # for those that start from now on
    done
    for_each_trial ask_trial
}

read_end() { # sets end; a file that is missing or damaged changes nothing
    line=
    { read -r line <.expires; } 2>/dev/null
    case $line in
    '' | *[!0-9]*) ;;
    *) end=$line ;;
    esac
}

trap 'for_each_trial end_trial' EXIT
trap on_term TERM
born=$(date +%s)
end=$((born + rb_hard_limit_s))
echo "$end" >.expires || { echo "cannot write $home/.expires: make room there, or allow writing" >&2; exit 1; }
while :; do
    now=$(date +%s)
    read_end
    [ "$now" -lt "$end" ] || exit 0
    [ -d rb ] || [ "$now" -lt $((born + 600)) ] || exit 0
    sleep 1 &
    wait $! # a signal ends the wait, and not a program in the foreground
done
