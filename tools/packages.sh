# Sourced by quickstart and check: which Debian packages are needed, and how they get here.
# shellcheck shell=sh
BUILD_PACKAGES="gcc meson ninja-build pkg-config duktape-dev libcjson-dev libcurl4-openssl-dev libexpat1-dev libgsl-dev
    libmicrohttpd-dev libqhull-dev libsqlite3-dev libssl-dev libuv1-dev libyaml-dev zlib1g-dev libcmocka-dev"
RUN_PACKAGES="openssh-client openssh-server python3 python3-sklearn curl ca-certificates"
TEST_PACKAGES="patch patchelf apt-utils gpg minisign awscli chromium chromium-driver python3-selenium python3-boto3 python3-google-auth python3-jsonschema python3-kubernetes python3-libcloud procps
    jupyter-nbconvert python3-ipykernel python3-build python3-pandas python3-pip python3-setuptools python3-wheel mypy
    munge slurm-client slurm-wlm-basic-plugins slurm-wlm-jwt-plugin slurmctld slurmd slurmrestd fish g++ make mandoc podman runc zsh"
# Another package of kubectl has the same file, and is as good.
command -v kubectl >/dev/null || TEST_PACKAGES="$TEST_PACKAGES kubernetes-client"

# install_packages "a b c": installs those that are missing, as root or through sudo, saying so.
install_packages() {
    missing=
    for p in $1; do
        dpkg-query -W -f '${Status}' "$p" 2>/dev/null | grep -q 'ok installed' || missing="$missing $p"
    done
    [ -n "$missing" ] || { echo "packages: all there"; return 0; }
    echo "packages: installing$missing"
    if [ "$(id -u)" = 0 ]; then
        sudo=
    elif command -v sudo >/dev/null; then
        sudo=sudo
    else
        echo "not root and no sudo: as root, run: apt-get install$missing" >&2
        return 1
    fi
    case $missing in
    *openssh-server*) echo "packages: openssh-server is for the mock cloud's nodes on loopback; its system service is not started now" ;;
    esac
    # RUNLEVEL=1: packages with services (openssh-server) do not start them.
    # shellcheck disable=SC2086
    $sudo apt-get update -qq && $sudo env DEBIAN_FRONTEND=noninteractive RUNLEVEL=1 apt-get install -y -qq --no-install-recommends $missing >/dev/null
}
