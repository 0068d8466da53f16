# The container of a node, whose image the job names. Runs on the node, outside of it; POSIX sh. In the node's home:
#   ready DIR NAME IMAGE GPUS DATA ENGINES...   it runs: one of the engines is there, the image was pulled, and DIR/enter leads into it.
#                 DATA: a folder of the node that it sees, too, if there is one; empty: none.
#                 stdin: user and password for the image's registry, a line each, or nothing. Prints "rb-pull SECONDS".
#                 255: the engine does not answer; ask again
#   drop DIR      it is gone, and everything that ran in it. For machines that go on without us
# They may be asked for at once: what a controller that was killed has begun goes on here.
# DIR is the folder of the run. The container sees it and DATA at the same paths, and nothing else of the node's disk; it has the node's
# network, shared memory and GPUs (those that are asked for), and our user. It is entered by `sh DIR/enter COMMAND`; 255: it is gone,
# or the engine failed.
# PID 1 in it waits, and takes over what is orphaned.
set -u
umask 077

# What the node script needs in the image.
# shellcheck disable=SC2016
probe='for c in base64 cksum date dd flock grep sed setsid stat tail tar; do
    command -v $c >/dev/null || { echo "the image has no $c" >&2; exit 1; }
done
tail --help 2>&1 | grep -q -e --pid || { echo "the tail of the image has no --pid: install coreutils in it" >&2; exit 1; }'

die() { code=$1; shift; echo "$*" >&2; exit "$code"; }

lock() {
    exec 9>"$dir/container.lock"
    flock 9
}

ask() { $engine "$@" 9>&-; } # what it leaves running holds no lock

# What engines write on login is kept in memory, and goes with this script.
log_in() { # sets secrets; nothing to log in with: empty
    secrets=''
    read -r user && read -r password || return 0
    secrets=$(mktemp -d /dev/shm/rb-login.XXXXXX 2>/dev/null) || secrets=$(mktemp -d) || return 1
    trap 'rm -rf "$secrets"' EXIT
    trap 'exit 255' HUP INT PIPE TERM # nothing that ends us in between leaves them
    export DOCKER_CONFIG="$secrets" REGISTRY_AUTH_FILE="$secrets/config.json"
    # shellcheck disable=SC2086
    case $engine in
    apptainer) export APPTAINER_DOCKER_USERNAME="$user" APPTAINER_DOCKER_PASSWORD="$password" ;;
    *) printf %s "$password" | ask login $loopback --username "$user" --password-stdin "${image%%/*}" >/dev/null ;;
    esac
}

is_there() {
    case $engine in
    apptainer) [ "$(cat "$dir/image.name" 2>/dev/null)" = "$image" ] ;;
    *) ask image inspect "$image" >/dev/null 2>&1 ;;
    esac
}

# A folder, because the process that shows a file as one ends with the command that began it.
build_folder() {
    rm -rf "$dir/image" && ask build --sandbox --fix-perms "$dir/image" "docker://$image" >&2 &&
        echo "$image" >"$dir/image.name"
}

pull_once() {
    # shellcheck disable=SC2086
    case $engine in
    apptainer) build_folder ;;
    *) ask pull $loopback --quiet "$image" >/dev/null ;;
    esac
}

pull() {
    began=$(date +%s)
    loopback=''
    case $engine:$image in podman:localhost:* | podman:127.0.0.1:*) loopback=--tls-verify=false ;; esac
    if ! is_there; then
        log_in || return 1
        tries=1
        until pull_once; do
            [ $tries -lt 3 ] || return 1
            sleep $((tries * 2))
            tries=$((tries + 1))
        done
    fi
    echo "rb-pull $(($(date +%s) - began))"
}

# Sets state: "running", another one, or empty where there is no such container. False: the engine does not say, so there may be one.
look() {
    state=$(ask ps --all --filter "name=^$name\$" --format '{{.State}}' 2>/dev/null)
}

runs() {
    [ "$(cat "$dir/container" 2>/dev/null)" = "$engine $name $image" ] || return 1
    look || die 255 "$engine does not say whether $name runs"
    case $state in running | Up*) ;; *) return 1 ;; esac
}

# Numbers of processes mean nothing in another container: none has the largest that there may be.
# What set-up has installed outside DIR has gone, too.
forget_container() {
    rm -f "$dir/setup.done"
    for pid in "$dir"/trials/*/*/pid; do
        [ ! -e "$pid" ] || echo 4194304 >"$pid"
    done
}

begin() {
    ask rm -f "$name" >/dev/null 2>&1
    echo "$engine $name $image" >"$dir/container" # before there is one: drop must find it
    forget_container
    set -- --detach --name "$name" --label "rb.run-id=${dir#rb/}" --pull never --network host --ipc host --pids-limit -1 \
        --security-opt label=disable --volume "$PWD/$dir:$PWD/$dir" --entrypoint sh \
        --env "HOME=$PWD/$dir" --env "USER=$(id -un)" --env "LOGNAME=$(id -un)"
    [ ! -d "$data" ] || set -- "$@" --volume "$data:$data"
    [ -z "${RB_NODE_DEVICES:-}" ] || set -- "$@" --env RB_NODE_DEVICES
    [ -z "${AWS_EC2_METADATA_SERVICE_ENDPOINT:-}" ] || set -- "$@" --env AWS_EC2_METADATA_SERVICE_ENDPOINT
    case $engine:$gpus in
    *:0) ;;
    podman:*) set -- "$@" --device nvidia.com/gpu=all ;;
    docker:*) set -- "$@" --gpus all ;;
    esac
    # Without numbers of its own a login has one user in a container, who is root there and the login outside.
    if [ "$engine" != podman ] || [ "$(id -u)" = 0 ]; then
        set -- "$@" --user "$(id -u):$(id -g)"
    elif grep -Eqs "^($(id -un)|$(id -u)):" /etc/subuid; then
        set -- "$@" --user "$(id -u):$(id -g)" --userns keep-id
    else
        set -- "$@" --user 0:0
    fi
    ask run "$@" "$image" -c 'trap "exit 0" TERM; while :; do sleep 86400 & wait $!; done' >/dev/null && return 0
    case $engine:$gpus in
    podman:0) ;;
    podman:*) echo "(GPUs are given by CDI: nvidia-ctk cdi generate --output=/etc/cdi/nvidia.yaml, of NVIDIA's container toolkit)" >&2 ;;
    esac
    return 1
}

enter_by_name() {
    cat <<END
[ "\$($engine inspect -f '{{.State.Running}}' $name 2>/dev/null)" = true ] || { echo "the node's container $name is gone" >&2; exit 255; }
$engine exec --interactive --workdir "\$PWD" $name sh -c "\$1"
code=\$?
[ \$code -ne 125 ] || code=255 # the engine's own trouble: the container may go on
exit \$code
END
}

# Processes are the allocation's own; only what they see is the image's. Their HOME would be the login's, and Slurm sets no USER.
enter_folder() {
    nv=''
    [ "$gpus" = 0 ] || nv=--nv
    [ ! -d "$data" ] || nv="$nv --bind '$data'"
    me=$(id -un)
    echo "exec apptainer exec $nv --bind \"\$PWD/$dir\" --pwd \"\$PWD\" \"\$PWD/$dir/image\"" \
        "env \"HOME=\$PWD/$dir\" 'USER=$me' 'LOGNAME=$me' sh -c \"\$1\""
}

ready() {
    name=$2 image=$3 gpus=$4 data=$5 engine=''
    shift 5
    for word in "$@"; do
        if [ -z "$engine" ] && command -v "$word" >/dev/null 2>&1; then engine=$word; fi
    done
    [ -n "$engine" ] || die 3 "none of these is installed: $*"
    command -v nvidia-smi >/dev/null 2>&1 || gpus=0
    lock
    pull || die 1 "$image could not be pulled by $engine"
    if [ "$engine" = apptainer ]; then
        enter_folder >"$dir/enter.new"
    else
        runs || begin || die 1 "$engine does not start a container of $image"
        enter_by_name >"$dir/enter.new"
    fi
    mv "$dir/enter.new" "$dir/enter"
    sh "$dir/enter" "$probe"
}

drop() {
    [ -e "$dir/container" ] || return 0
    read -r engine name _ <"$dir/container"
    lock
    ask rm -f "$name" >/dev/null 2>&1
    { look && [ -z "$state" ]; } || die 1 "the container $name does not end: $engine rm -f $name"
    rm -f "$dir/container" "$dir/enter"
}

verb=$1
dir=$2
shift
"$verb" "$@"
