#!/bin/sh
# Runs on a node, for rbrun. POSIX sh, coreutils, util-linux's flock and setsid. Every verb may be repeated.
#   setup                    the job's set-up command, once
#   run TRIAL ATTEMPT NONCE  starts the trial's process group unless it was started, then follows its output to the end
#   yield TRIAL ATTEMPT      its RB_PREEMPT_FILE appears: a script that looks for it checkpoints and ends with 75
#   kill TRIAL ATTEMPT       ends the process group, and what the trial has started outside it
#   save TRIAL ATTEMPT DIR   tar of the checkpoint directory on stdout
#   load TRIAL DIGEST        tar on stdin becomes the trial's resume directory
#   upload TRIAL ATTEMPT DIR URI, download TRIAL DIGEST URI   the same through the bucket's own client
# stdin of run and setup is a sh fragment of quoted exports: it is never part of an argv, and is deleted once read.
set -eu
umask 077
base=$(cd "$(dirname "$0")" && pwd -P) # one name of it, whatever it was reached by: see end_strays
cd "$base"

# Where only some of the machine's GPUs are lent to us (RB_NODE_DEVICES: which), the n-th GPU is the n-th of those.
lent_devices() {
    [ -n "${RB_NODE_DEVICES:-}" ] || { echo "$1"; return; }
    for device in $(echo "$1" | tr , ' '); do echo "$RB_NODE_DEVICES" | cut -d, -f$((device + 1)); done | paste -s -d, -
}

die() { echo "node: $*" >&2; exit 1; }

task() {
    case $1$2 in *[!0-9]*) die "bad trial or attempt" ;; esac
    dir=$base/trials/$1/$2
}

# Is that number still our supervisor's? Process ids are reused, at the latest after a restart of the machine.
leads() {
    [ ! -e "/proc/$1" ] || grep -qsF "$base/node" "/proc/$1/cmdline"
}

# Processes of the task in other sessions have the name of its RB_PREEMPT_FILE in their environment, and no others do.
# Without /proc none are found; nor are processes that hide their environment.
end_strays() {
    unset RB_PREEMPT_FILE # or grep finds itself
    for _ in 1 2 3 4 5; do # what is being ended may start another
        strays=$(cd /proc 2>/dev/null &&
            LC_ALL=C grep -lsF "RB_PREEMPT_FILE=$dir/preempt" [0-9]*/environ | tr -dc '0-9\n') || return 0
        [ -n "$strays" ] || return 0
        # shellcheck disable=SC2086
        kill -s KILL $strays 2>/dev/null || :
    done
}

start() { # under the lock: the first to come starts it
    touch "$dir/out" "$dir/metrics"
    # Not our child, which becomes tail and would never reap it: tail would follow the dead for ever.
    (setsid sh "$base/node" supervise "$1" "$2" "$3" </dev/null >/dev/null 2>&1 9>&- & echo $! >"$dir/pid.new")
    mv "$dir/pid.new" "$dir/pid"
}

case $1 in
setup)
    mkdir -p "$base/work"
    cat >"$base/setup.env"
    . "$base/setup.env"
    rm -f "$base/setup.env"
    cd "$base/work"
    /bin/sh -c "$rb_command" >"$base/setup.log" 2>&1 </dev/null || { code=$?; tail -n 5 "$base/setup.log" >&2; exit $code; }
    ;;
run)
    task "$2" "$3"
    mkdir -p "$dir"
    cat >"$dir/env.$$"
    exec 9>"$dir/lock"
    flock 9
    if [ -e "$dir/pid" ]; then rm -f "$dir/env.$$"; else mv "$dir/env.$$" "$dir/env"; start "$2" "$3" "$4"; fi
    flock -u 9
    exec 9>&-
    # Metrics first: a finished task's metrics then come before its exit line. tail ends with the supervisor.
    cd "$dir"
    exec tail -q -n +1 -f --pid="$(cat pid)" metrics out
    ;;
supervise)
    task "$2" "$3"
    trap : TERM # ends the trial, not us: we still have to say how it ended
    cd "$dir"
    . ./env
    rm -f env
    CUDA_VISIBLE_DEVICES=$(lent_devices "${CUDA_VISIBLE_DEVICES:-}")
    RB_METRICS_FILE=$dir/metrics RB_PREEMPT_FILE=$dir/preempt RB_PARAMS_FILE=$dir/params.json
    [ ! -e "$base/preempt" ] || touch "$RB_PREEMPT_FILE" # the node itself is about to go
    RB_CHECKPOINT_DIR=$dir/$rb_checkpoint_dir RB_RESUME_FROM=
    [ "$rb_resume" = 0 ] || RB_RESUME_FROM=$base/trials/$2/resume
    export RB_METRICS_FILE RB_PREEMPT_FILE RB_PARAMS_FILE RB_CHECKPOINT_DIR RB_RESUME_FROM
    printf '%s\n' "$RB_PARAMS_JSON" >params.json
    mkdir -p "$RB_CHECKPOINT_DIR"
    (cd "$base/work" && exec /bin/sh -c "$rb_command") >>out 2>&1 </dev/null &
    child=$!
    code=0
    wait $child || code=$?
    while kill -0 $child 2>/dev/null; do code=0; wait $child || code=$?; done # wait returns early on our own TERM
    kill -s TERM 0 # what it has left running would hold its GPUs
    end_strays
    [ ! -s metrics ] || { echo; cat metrics; } >>out # a follower reads two files: make sure nothing is behind the exit
    echo $code >exit.new
    mv exit.new exit
    printf '\n@rb-exit %s %s\n' "$4" $code >>out
    kill -s KILL 0 # whatever the script has left running; and us, who are done
    ;;
yield)
    task "$2" "$3"
    mkdir -p "$dir" # it may not have started yet
    touch "$dir/preempt"
    ;;
kill)
    task "$2" "$3"
    [ -e "$dir/pid" ] || exit 0
    group=$(cat "$dir/pid")
    i=0
    while leads "$group" && kill -s 0 -- "-$group" 2>/dev/null; do
        [ $i -gt 0 ] || kill -s TERM -- "-$group" 2>/dev/null || :
        i=$((i + 1))
        [ $i -lt 40 ] || { kill -s KILL -- "-$group" 2>/dev/null || :; break; }
        sleep 0.05
    done
    end_strays
    ;;
save)
    task "$2" "$3"
    cd "$dir/$4" 2>/dev/null || die "trial $2 left no checkpoint directory $4"
    link=$(find . -type l 2>/dev/null | head -n 1) # trials resume from it, but rbrun fetch will not unpack it
    [ -z "$link" ] || echo "symbolic link: \"$link\"" >&2
    exec tar -cf - .
    ;;
load)
    task "$2" 0
    into=$base/trials/$2
    mkdir -p "$into"
    [ "$(cat "$into/resume.digest" 2>/dev/null)" = "$3" ] && { cat >/dev/null; exit 0; }
    rm -rf "$into/resume.new" "$into/resume"
    mkdir "$into/resume.new"
    tar -C "$into/resume.new" -xf -
    mv "$into/resume.new" "$into/resume"
    echo "$3" >"$into/resume.digest"
    ;;
upload)
    task "$2" "$3"
    [ -d "$dir/$4" ] || die "trial $2 left no checkpoint directory $4"
    case $5 in
    s3://*) aws s3 cp --only-show-errors --recursive "$dir/$4" "$5" ;;
    gs://*) gcloud storage cp -r "$dir/$4/*" "$5/" ;;
    *) die "checkpoint.uri: only s3:// and gs://" ;;
    esac
    ;;
download)
    task "$2" 0
    into=$base/trials/$2
    [ "$(cat "$into/resume.digest" 2>/dev/null)" = "$3" ] && exit 0
    rm -rf "$into/resume"
    mkdir -p "$into/resume"
    case $4 in
    s3://*) aws s3 cp --only-show-errors --recursive "$4" "$into/resume" ;;
    gs://*) gcloud storage cp -r "$4/*" "$into/resume/" ;;
    *) die "checkpoint.uri: only s3:// and gs://" ;;
    esac
    echo "$3" >"$into/resume.digest"
    ;;
*) die "unknown verb $1" ;;
esac
