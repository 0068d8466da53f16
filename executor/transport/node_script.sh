#!/bin/sh
# Runs on a node, for rbrun. POSIX sh, coreutils, util-linux's flock and setsid. Every verb may be repeated.
#   setup                    the job's set-up command, once
#   data                     the command that fetches the job's data, once; prints for how many microseconds it ran. Without
#                            one: is its folder there?
#   run TRIAL ATTEMPT NONCE  starts the trial's process group unless it was started, then follows its output to the end
#   yield TRIAL ATTEMPT WHY  its RB_PREEMPT_FILE appears: a script that looks for it checkpoints and ends with 75
#   stop TRIAL ATTEMPT CODE REST   ends it once files of its checkpoint have changed and rested for REST seconds; it has
#                            then ended with CODE. Of a repeated request only REST counts; 0 goes before 75
#   echo TRIAL ATTEMPT NONCE WORD   the word comes in its output, behind all that it has printed
#   kill TRIAL ATTEMPT       ends the process group, and what the trial has started outside it
#   save TRIAL ATTEMPT DIR FILES MUST NAME NAMES   tar of the checkpoint directory on stdout, or of the files in it whose
#                            names match FILES; MUST: an error where there is none. NAME: of that folder in it, a midway
#                            checkpoint. NAMES: such folders, which are removed first, NAME not
#   load TRIAL DIGEST BYTES  tar on stdin, so long, becomes the trial's resume directory
#   upload TRIAL ATTEMPT DIR URI NAME NAMES, download TRIAL DIGEST URI, discard URI   the same through the bucket's own
#                            client; what it holds is removed
# stdin of run, setup and data is a sh fragment of quoted exports: it is never part of an argv, and is deleted once read. Its last
# line is rb_input=whole.
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

# Who sends may be killed, and a connection may break, at any byte: what is sent again is then for another command.
broke_off() { echo "node: its input broke off: $*" >&2; exit 255; }

take_input() { # FILE
    LC_ALL=C cat >"$1"
    [ "$(tail -n 1 "$1")" = rb_input=whole ] || { rm -f "$1"; broke_off "it does not end with rb_input=whole"; }
}

run_logged() { # LOG COMMAND: of the job; 255 is ssh's own, 125 an engine's
    /bin/sh -c "$2" >"$1" 2>&1 </dev/null 9>&- || {
        code=$?
        tail -n 5 "$1" >&2
        case $code in 125 | 255) code=1 ;; esac
        exit $code
    }
}

task() {
    case $1$2 in *[!0-9]*) die "bad trial or attempt" ;; esac
    dir=$base/trials/$1/$2
    own=$dir/.rb # of this script: begun, over; stop, since, stopped, snapshot; .rested-N, reads; what was sent of metric files
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

# --- what scripts get that were not written for us: words, files, a folder ---

newest() { # GLOB: what matches below the resumed checkpoint and has the largest number in its name
    found=$(IFS='' && cd "$RB_RESUME_FROM" && for f in $1; do [ ! -e "$f" ] || printf '%s\n' "$f"; done |
        LC_ALL=C sort -V | tail -n 1) || found=''
    printf '%s/%s\n' "$RB_RESUME_FROM" "${found:-$1}"
}

fill_file() { # the copy of args.file; each parameter has a line there, "name: value" of YAML or JSON
    mkdir -p "$(dirname "$rb_file")" && cp "$base/work/$rb_file_base" "$rb_file" && chmod u+w "$rb_file" || return 1
    printf '%s' "$rb_file_values" >"$own/values"
    while read -r name value; do
        line="^([[:blank:]]*\"?$(printf %s "$name" | sed 's/[].[\*^$+?(){}|/]/\\&/g')\"?[[:blank:]]*:)"
        grep -Eq "$line" "$rb_file" || { echo "rubberband: $rb_file_base has no line \"$name: ...\""; return 1; }
        value=$(printf %s "$value" | sed 's/[\&|]/\\&/g')
        sed -E -e "s|$line.*,[[:blank:]]*\$|\\1 $value,|;t" -e "s|$line.*|\\1 $value|" "$rb_file" >"$own/filled" &&
            cat "$own/filled" >"$rb_file" || return 1
    done <"$own/values"
}

# What the script finds when it begins. With in_place the folder is then the checkpoint that is gone on from.
begin_files() {
    touch "$own/begun" && printf '%s\n' "$RB_PARAMS_JSON" >params.json && begin_checkpoint
}

begin_checkpoint() {
    [ "${rb_in_place:-0}" = 0 ] || rm -rf "$RB_CHECKPOINT_DIR" || return 1
    mkdir -p "$RB_CHECKPOINT_DIR" || return 1
    if [ "${rb_in_place:-0}" = 1 ] && [ -n "$RB_RESUME_FROM" ]; then
        cp -a "$RB_RESUME_FROM/." "$RB_CHECKPOINT_DIR/" || return 1
    fi
    [ -z "${rb_file_base:-}" ] || fill_file
}

# --- beside the script: its metric files are sent, and it is ended when that was asked for ---

# Lines of the output, which the launcher takes out again wherever they stand: each is one write of less than a page.
send() { # NONCE NAME PATH SIZE: what is new of a file; if its first bytes are others, it begins again
    key=$(printf %s "$2" | cksum)
    state=$own/sent-${key%% *}
    name=$(printf %s "$2" | base64 -w 0)
    sent=0 head=0 sum=''
    [ ! -e "$state" ] || IFS=' ' read -r sent head sum <"$state"
    if [ -z "$sum" ] || [ "$4" -lt "$sent" ] || [ "$(head -c "$head" "$3" | cksum | tr ' ' -)" != "$sum" ]; then
        sent=0
        printf '@rb-file %s %s restart\n' "$1" "${name:--}" >>"$dir/out"
    fi
    head=$(($4 < 4096 ? $4 : 4096))
    sum=$(head -c $head "$3" | cksum | tr ' ' -)
    tail -c +$((sent + 1)) "$3" | head -c $(($4 - sent)) | base64 -w 3600 | while read -r bytes; do
        printf '@rb-file %s %s %s\n' "$1" "${name:--}" "$bytes"
    done >>"$dir/out"
    echo "$4 $head $sum" >"$state"
    total=$(($(cat "$own/total" 2>/dev/null || echo 0) + $4 - sent))
    echo $total >"$own/total"
    [ $total -le 67108864 ] || { echo "rubberband: metric.file is read no further than 64 MiB" >>"$dir/out"; rb_metric_file=''; }
}

look_at_files() { # NONCE
    IFS=''
    touch "$own/looked"
    root=$rb_metric_file
    case $root in *[*?[]*) root=${root%%[*?[]*}; root=${root%/*} ;; esac
    # shellcheck disable=SC2086
    find -L $rb_metric_file -type f -exec stat -L -c '%s %y|%n' {} + 2>/dev/null | LC_ALL=C sort -t '|' -k 2 >"$own/now"
    while read -r line && [ -n "$rb_metric_file" ]; do
        path=${line#*|}
        name=${path#"$root"}
        grep -qxF -- "$line" "$own/before" || send "$1" "${name#/}" "$path" "${line%% *}"
    done <"$own/now"
    mv "$own/now" "$own/before"
    [ -n "$rb_metric_file" ] || touch "$own/enough"
}

has_news() { # cheaper than a look
    IFS=''
    # shellcheck disable=SC2086
    [ -n "$(find -L $rb_metric_file -type f -cnewer "$own/looked" -print -quit 2>/dev/null)" ]
}

saved() { # what find is to ask besides: the files of the checkpoint
    (cd "$RB_CHECKPOINT_DIR" && find . \( -type f -o -type l \) "$@" | LC_ALL=C grep -E -- "${rb_files:-.}") 2>/dev/null
}

signature() {
    (cd "$RB_CHECKPOINT_DIR" && saved | tr '\n' '\0' | xargs -0 -r stat -c '%s %i %z %n') 2>/dev/null
}

# A copy of them as they were when that signature was taken; none if there were no files, or they have changed since.
copy_saved() { # INTO SIGNATURE
    [ -n "$2" ] || return 1
    rm -rf "$1.new"
    mkdir "$1.new"
    (cd "$RB_CHECKPOINT_DIR" && saved | tr '\n' '\0' | xargs -0 -r cp -a --parents -t "$1.new") || return 1
    [ "$2" = "$(signature)" ] && mv "$1.new" "$1"
}

# Folders of these files: a script that replaces a file may be stopped while there is neither the old one nor the new one.
changing() { # what find is to ask
    (cd "$RB_CHECKPOINT_DIR" && saved | sed 's|/[^/]*$||' | sort -u | while IFS='' read -r folder; do
        find "$folder" -maxdepth 0 "$@"
    done) 2>/dev/null
}

# A copy of the files as they are, if they have changed since the request and rested: no save is half done.
snapshot() {
    IFS=' ' read -r code rest <"$own/stop"
    [ "$code" = 0 ] || since=$own/begun # the newest state that there is
    touch -d "-$rest seconds" "$own/quiet"
    present=$(signature)
    [ -n "$(saved -cnewer "${since:-$own/since}")" ] && [ -z "$(saved -cnewer "$own/quiet")" ] &&
        [ -z "$(changing -cnewer "$own/quiet")" ] && copy_saved "$own/snapshot" "$present" || return 1
    echo "$code" >"$own/stopped.new"
    mv "$own/stopped.new" "$own/stopped"
}

# Where the script saves on and announces nothing: once its files have changed and rested for two seconds, and the last copy is
# old enough, a copy of them is announced. Before that, that they change: they are of what was reported until then.
look_at_rest() { # NONCE
    now=$(date +%s)
    if [ "$(signature)" != "$looked" ]; then
        looked=$(signature)
        [ -z "$rests" ] || printf '@rb-file %s - changed\n' "$1" >>"$dir/out"
        rests='' fresh=1 changed_at=$now
    fi
    [ $((now - changed_at)) -gt 2 ] || return 0
    rests=1
    [ -n "$fresh" ] && [ $((now - copied_at)) -ge "$RB_CHECKPOINT_EVERY_S" ] || return 0
    ! kill -s 0 "$(cat "$own/reads" 2>/dev/null)" 2>/dev/null || return 0
    copy_saved "$own/.rested-$((copies + 1))" "$looked" || return 0
    rm -rf "$own/.rested-$copies"
    copies=$((copies + 1)) fresh='' copied_at=$now
    printf '@rb-file %s %s rested\n' "$1" "$(printf .rested-%s $copies | base64)" >>"$dir/out"
}

attend() { # NONCE CHILD
    set +e
    trap : TERM # sent to the whole group; what must not be cut short ignores it
    unset RB_PREEMPT_FILE # we are none of the script's, see end_strays
    since='' ticks=0 rests=1 fresh='' copies=0 copied_at=$(date +%s) changed_at=0
    until [ -e "$own/over" ]; do
        if [ -n "$rb_metric_file" ] && [ ! -e "$own/enough" ]; then
            (trap '' TERM; if [ $((ticks % 10)) = 0 ] || has_news; then look_at_files "$1"; fi)
        fi
        if [ -n "$rb_rests" ] && [ $((ticks % 5)) = 0 ] && [ ! -e "$own/stop" ]; then look_at_rest "$1"; fi
        if [ -e "$own/stop" ] && [ ! -e "$own/stopped" ] && (trap '' TERM; snapshot); then
            kill -s TERM 0
            left=300
            while kill -s 0 "$2" 2>/dev/null && [ $left -gt 0 ]; do left=$((left - 1)); sleep 0.1; done
            end_strays
        fi
        ticks=$((ticks + 1))
        sleep 0.2
    done
    [ -z "$rb_metric_file" ] || [ -e "$own/enough" ] || (trap '' TERM; look_at_files "$1")
}

# --- a spot machine asks its cloud ---

time_left() { # seconds until the cloud takes this machine back; false: it has not said so
    token=$(curl --noproxy '*' -fsm 2 -X PUT -H 'X-aws-ec2-metadata-token-ttl-seconds: 60' "$url/latest/api/token") &&
        at=$(curl --noproxy '*' -fsm 2 -H "X-aws-ec2-metadata-token: $token" "$url/latest/meta-data/spot/instance-action" |
            sed -n 's/.*"time" *: *"\([^"]*\)".*/\1/p') && [ -n "$at" ] && at=$(date -d "$at" +%s) &&
        echo $((at - $(date +%s))) && return 0
    [ "$(curl --noproxy '*' -fsm 2 -H 'Metadata-Flavor: Google' "$url/computeMetadata/v1/instance/preempted")" = TRUE ] && echo 30
}

await_notice() { # NONCE
    set +e
    unset RB_PREEMPT_FILE # we are none of the script's, see end_strays
    url=${AWS_EC2_METADATA_SERVICE_ENDPOINT:-http://169.254.169.254}
    url=${url%/}
    until left=$(time_left 2>/dev/null); do sleep 5; done
    printf '@rb-file %s %s leaving\n' "$1" "$(printf %s "$left" | base64)" >>"$dir/out"
}

start() { # under the lock: the first to come starts it
    mkdir -p "$own"
    touch "$dir/out" "$dir/metrics" "$own/before"
    # Not our child, which becomes tail and would never reap it: tail would follow the dead for ever.
    (setsid sh "$base/node" supervise "$1" "$2" "$3" </dev/null >/dev/null 2>&1 9>&- & echo $! >"$dir/pid.new")
    mv "$dir/pid.new" "$dir/pid"
}

# What is to be saved becomes the directory: what the trial has left, or the midway checkpoint NAME.
enter_checkpoint() { # TRIAL DIR NAME NAMES
    from=$dir/$2
    [ -n "$3" ] || [ ! -e "$own/stopped" ] || from=$own/snapshot
    cd "$from" 2>/dev/null || die "trial $1 left no checkpoint directory $2"
    for name in $4; do [ "$name" = "$3" ] || rm -rf "./$name"; done
    case $3 in
    '') return 0 ;;
    .*) cd "$own" && echo $$ >reads ;; # a copy of ours, which stays while we read it
    esac
    [ ! -L "$3" ] || die "it announced $3, which is a symbolic link"
    cd "$3" 2>/dev/null || die "it announced $3, and there is no such folder in RB_CHECKPOINT_DIR"
}

# A transfer has a folder of its own: that of a controller that was killed may still be on its way. The first to be whole stays.
begin_resume() { # TRIAL DIGEST: sets new; the end of the command where that one is there
    task "$1" 0
    into=$base/trials/$1
    mkdir -p "$into"
    [ "$(cat "$into/resume.digest" 2>/dev/null)" != "$2" ] || { cat >/dev/null; exit 0; }
    new=$into/resume.new.$$
    trap 'rm -rf "$new" "$new.read"' EXIT
    trap 'exit 255' HUP INT PIPE TERM
    rm -rf "$new"
    mkdir "$new"
}

end_resume() { # DIGEST
    exec 9>"$into/resume.lock"
    flock 9
    [ "$(cat "$into/resume.digest" 2>/dev/null)" != "$1" ] || exit 0
    rm -rf "$into/resume.digest" "$into/resume"
    mv "$new" "$into/resume"
    echo "$1" >"$into/resume.digest.new"
    mv "$into/resume.digest.new" "$into/resume.digest"
}

case $1 in
setup)
    mkdir -p "$base/work"
    take_input "$base/setup.env.$$"
    wanted="$(cat "$base/digest" 2>/dev/null) $(cksum <"$base/setup.env.$$")" # with other files it is another set-up
    . "$base/setup.env.$$"
    rm -f "$base/setup.env.$$"
    exec 9>"$base/setup.lock"
    flock 9 # an earlier call may still be at it, after its connection was lost or its sender killed
    if [ "$(cat "$base/setup.done" 2>/dev/null)" != "$wanted" ]; then
        cd "$base/work"
        run_logged "$base/setup.log" "$rb_command"
        echo "$wanted" >"$base/setup.done.new"
        mv "$base/setup.done.new" "$base/setup.done"
    fi
    ;;
data)
    take_input "$base/data.env.$$"
    . "$base/data.env.$$"
    rm -f "$base/data.env.$$"
    export RB_DATA_DIR="${rb_data:-$base/data}"
    if [ -z "${rb_command:-}" ]; then
        [ -d "$RB_DATA_DIR" ] || die "there is no folder $RB_DATA_DIR"
        exit 0
    fi
    exec 9>"$base/data.lock"
    flock 9
    if [ ! -e "$base/fetched" ]; then
        mkdir -p "$RB_DATA_DIR" "$base/work"
        cd "$base/work"
        begun=$(date +%s%N)
        run_logged "$base/data.log" "$rb_command"
        echo $((($(date +%s%N) - begun) / 1000)) >"$base/fetched.new"
        mv "$base/fetched.new" "$base/fetched"
    fi
    cat "$base/fetched"
    ;;
run)
    task "$2" "$3"
    LC_ALL=C mkdir -p "$dir"
    # What runs or has ended is only followed: the disk may be full by now.
    if grep -qsF "@rb-exit $4 " "$dir/out" || kill -s 0 "$(cat "$dir/pid" 2>/dev/null)" 2>/dev/null; then
        cat >/dev/null
    else
        take_input "$dir/env.$$"
    fi
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
    [ ! -e "$base/preempt" ] || cp "$base/preempt" "$RB_PREEMPT_FILE" # the node itself is about to go
    RB_CHECKPOINT_DIR=$dir/$rb_checkpoint_dir RB_RESUME_FROM=
    [ "${rb_in_place:-0}" = 0 ] || RB_CHECKPOINT_DIR=$base/trials/$2/${rb_checkpoint_dir#../} # one name at every start
    [ "$rb_resume" = 0 ] || RB_RESUME_FROM=$base/trials/$2/resume
    export RB_METRICS_FILE RB_PREEMPT_FILE RB_PARAMS_FILE RB_CHECKPOINT_DIR RB_RESUME_FROM
    [ -z "${rb_data+given}" ] || export RB_DATA_DIR="${rb_data:-$base/data}"
    rb_file=$RB_CHECKPOINT_DIR/${rb_file_path:-} nonce=$4
    eval "rb_metric_file=${rb_metric_file:-}"
    code=0
    if said=$(export LC_ALL=C; begin_files 2>&1); then
        eval "set -- ${rb_words:-}"
        rb_rests=''
        [ -z "${rb_files:-}" ] || [ "${RB_CHECKPOINT_EVERY_S:-0}" -eq 0 ] || rb_rests=1
        [ -z "$rb_rests" ] || looked=$(signature) # before the script changes anything
        (cd "$base/work" && exec /bin/sh -c "$rb_command" sh "$@") >>out 2>&1 </dev/null &
        child=$!
        [ -z "${rb_spot:-}" ] || (trap - TERM; await_notice "$nonce") &
        if [ -n "$rb_metric_file$rb_rests" ] || [ "${rb_stop:-self}" = saved ]; then attend "$nonce" $child & attendant=$!; fi
        wait $child || code=$?
        while kill -0 $child 2>/dev/null; do code=0; wait $child || code=$?; done # wait returns early on our own TERM
    else
        code=1
        rm -rf "$RB_CHECKPOINT_DIR" # half of it would leave no room for what is said next
        printf '@rb-file %s %s unready\n%s\n' "$nonce" "$(printf %s "$said" | tail -c 600 | base64 -w 0)" "$said" >>out
    fi
    kill -s TERM 0 # what it has left running would hold its GPUs
    end_strays
    touch "$own/over"
    while [ -n "${attendant:-}" ] && kill -0 "$attendant" 2>/dev/null; do wait "$attendant" || :; done # its last look
    [ ! -e "$own/stopped" ] || code=$(cat "$own/stopped")
    [ ! -s metrics ] || { echo; cat metrics; } >>out # a follower reads two files: make sure nothing is behind the exit
    printf '\n@rb-exit %s %s\n' "$nonce" "$code" >>out
    kill -s KILL 0 # whatever the script has left running; and us, who are done
    ;;
yield)
    task "$2" "$3"
    mkdir -p "$dir" # it may not have started yet
    printf '%s\n' "$4" >"$dir/why.$$"
    [ -e "$dir/preempt" ] || mv "$dir/why.$$" "$dir/preempt"
    rm -f "$dir/why.$$"
    ;;
stop)
    task "$2" "$3"
    mkdir -p "$own"
    was=''
    [ ! -e "$own/stop" ] || IFS=' ' read -r was _ <"$own/stop"
    [ "$was" != 0 ] || [ "$4" = 0 ] || exit 0
    [ "$was" = "$4" ] || touch -d "-$5 seconds" "$own/since"
    echo "$4 $5" >"$own/stop.$$"
    mv "$own/stop.$$" "$own/stop"
    ;;
echo)
    task "$2" "$3"
    printf '@rb-file %s %s echo\n' "$4" "$(printf %s "$5" | base64)" >>"$dir/out"
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
    enter_checkpoint "$2" "$4" "${7:-}" "${8:-}"
    link=$(find . -type l 2>/dev/null | head -n 1) # trials resume from it, but rbrun fetch will not unpack it
    [ -z "$link" ] || echo "symbolic link: \"$link\"" >&2
    [ -n "${5:-}" ] || exec tar --hard-dereference -cf - . # fetch will unpack no hard links either
    names=$(find . \( -type f -o -type l \) | LC_ALL=C grep -E -- "$5") || :
    [ -n "$names" ] || [ -z "${6:-}" ] || die "none of the files that trial $2 left in $4 matches checkpoint.files"
    printf '%s' "${names:+$names
}" | tar --hard-dereference -cf - -T -
    ;;
load)
    export LC_ALL=C
    begin_resume "$2" "$3"
    # What tar does not want is read as well, so that all bytes are counted; dd says how many in its last line.
    code=0
    dd bs=65536 2>"$new.read" | { tar -C "$new" -xf - || { code=$?; cat >/dev/null; exit $code; }; } || code=$?
    [ $code = 0 ] || head -c 65536 /dev/zero >"$new/probe" || exit $code # tar need not say that the disk is full
    n=$(sed -n 's/ bytes.*//p' "$new.read")
    [ -n "$n" ] || die "dd does not say how many bytes came: $(head -c 200 "$new.read")"
    [ "$n" -eq "$4" ] || broke_off "$n of $4 bytes of the checkpoint of trial $2 came"
    [ $code = 0 ] || exit $code
    end_resume "$3"
    ;;
upload)
    task "$2" "$3"
    enter_checkpoint "$2" "$4" "${6:-}" "${7:-}"
    case $5 in
    s3://*) aws s3 cp --only-show-errors --recursive "$PWD" "$5" ;;
    gs://*) gcloud storage cp -r "$PWD/*" "$5/" ;;
    *) die "checkpoint.uri: only s3:// and gs://" ;;
    esac
    ;;
discard)
    case $2 in
    s3://*) aws s3 rm --only-show-errors --recursive "$2" ;;
    gs://*) gcloud storage rm -r "$2" ;;
    *) die "checkpoint.uri: only s3:// and gs://" ;;
    esac
    ;;
download)
    begin_resume "$2" "$3"
    case $4 in
    s3://*) aws s3 cp --only-show-errors --recursive "$4" "$new" ;;
    gs://*) gcloud storage cp -r "$4/*" "$new/" ;;
    *) die "checkpoint.uri: only s3:// and gs://" ;;
    esac
    end_resume "$3"
    ;;
*) die "unknown verb $1" ;;
esac
