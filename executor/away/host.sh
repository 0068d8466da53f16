# What `rbrun --at` asks of a host: run there by `sh -c`, with a verb and its arguments. Every verb may be repeated. A
# file counts once its digest is the one that was named; programs and runs have names of their own, so nothing is replaced.
set -eu
umask 077
if [ -n "${SLURM_JOB_ID:-}" ]; then # an allocation: on the node's own disk, because a journal on NFS is not safe
    export XDG_CACHE_HOME="$RB_NODE_HOME/.cache" XDG_STATE_HOME="$RB_NODE_HOME/.state"
    # No token is copied: Slurm knows whose job this is.
    if [ -z "${SLURM_JWT:-}${RB_SLURM_JWT_FILE:-}" ] && token=$(scontrol token lifespan=700000 2>/dev/null); then
        export "${token?}"
    fi
fi
programs=${XDG_CACHE_HOME:-$HOME/.cache}/rubberband
state=${XDG_STATE_HOME:-$HOME/.local/state}/rubberband
verb=$1 program=$programs/rbrun-$2/bin/rbrun
missing=199 # exit code: the program has to be sent first

# take FILE DIGEST: standard input becomes the file, whole or not at all.
take() {
    if ! cat >"$1.$$"; then # on a full disk what stayed would leave no room for the answer
        rm -f "$1.$$"
        echo "cannot write $1: make room there" >&2
        return 1
    fi
    if [ "$(sha256sum <"$1.$$" | cut -d ' ' -f 1)" = "$2" ]; then
        mv "$1.$$" "$1"
    else
        rm -f "$1.$$"
        echo "what arrived does not have the digest $2" >&2
        return 1
    fi
}

case $verb in
look) # DIGEST
    [ -x "$program" ] && has=1 || has=0
    echo "$(uname -s) $(uname -m) $(date +%s) $has"
    ;;
program) # DIGEST; stdin: bin/rbrun and lib/ as a tar
    mkdir -p "$programs"
    new=$(mktemp -d "$programs/new.XXXXXX")
    trap 'rm -rf "$new"' EXIT
    take "$new/tar" "$2"
    tar -xf "$new/tar" -C "$new"
    rm "$new/tar"
    [ ! -d "$new/lib" ] || ln -s . "$new/lib/rubberband" # where a program looks that was not in a portable bundle
    "$new/bin/rbrun" --version >/dev/null
    mv -T "$new" "$programs/rbrun-$2" 2>/dev/null || [ -x "$program" ] # another was quicker
    ;;
file) # RUN NAME DIGEST; stdin: the file
    mkdir -p "$state/sent/$2"
    take "$state/sent/$2/$3" "$4"
    ;;
start) # DIGEST RUN OPTION...; stdin: the job's secrets. One at a time for each run.
    run=$3 sent=$state/sent/$3
    shift 3
    exec 9>"$sent/lock"
    flock 9
    if [ -e "$state/runs/$run/journal.db" ]; then
        echo begun
        exit 0
    fi
    rm -rf "$state/runs/$run" # of one that died before it had begun
    if [ ! -d "$sent/work" ]; then
        rm -rf "$sent/new"
        mkdir "$sent/new"
        tar -xf "$sent/bundle.tar" -C "$sent/new"
        mv "$sent/new/work" "$sent/work"
        rm -rf "$sent/new"
    fi
    exec "$program" "$sent/plan.json" --sent "$run" --detach --yes --json "$@"
    ;;
archive) # RUN ID DIGEST; stdin: the archive of a run that moves here
    mkdir -p "$state/runs/moves/$2"
    take "$state/runs/moves/$2/$3.tar" "$4"
    ;;
give) # RUN ID: the archive of a run that leaves
    exec cat "$state/runs/moves/$2/$3.tar"
    ;;
move) # DIGEST WORD...: a part of `rbrun move`; stdin: the job's secrets
    [ -x "$program" ] || exit $missing
    shift 2
    exec "$program" move "$@" --json
    ;;
run) # DIGEST WORD...: on a terminal
    [ -x "$program" ] || exit $missing
    shift 2
    exec "$program" "$@"
    ;;
pass) # DIGEST WORD...: ends when stdin does, because no one reads its output then
    [ -x "$program" ] || exit $missing
    shift 2
    exec 3<&0
    "$program" "$@" </dev/null 3<&- &
    child=$!
    { cat <&3 >/dev/null && kill "$child"; } 2>/dev/null &
    code=0
    wait "$child" || code=$?
    kill $! 2>/dev/null || :
    exit $code
    ;;
fetch) # DIGEST WORD...: what is unpacked, to stdout as a tar
    [ -x "$program" ] || exit $missing
    shift 2
    new=$(mktemp -d)
    trap 'rm -rf "$new"' EXIT
    "$program" fetch "$@" "$new/checkpoint" >&2
    tar -cf - -C "$new/checkpoint" .
    ;;
esac
