#!/bin/sh
# build.sh DIRECTORY: the programs of a Kubernetes cluster in DIRECTORY/bin, for cluster.py. kube-apiserver, kube-controller-manager,
# kube-scheduler and kubelet are compiled from Debian's source package; etcd, containerd, runc, the CNI plugins, kubectl, busybox and
# the compiler are Debian's, unpacked there: nothing is installed. Needs Debian 12 and dpkg-dev; 3 GB, 15 to 40 minutes on two cores.
# Run again, it goes on where it stopped.
set -eu
[ $# = 1 ] || { echo "usage: build.sh DIRECTORY" >&2; exit 2; }
mkdir -p "$1"
dir=$(cd "$1" && pwd)
mirror=${RB_DEBIAN_MIRROR:-http://deb.debian.org/debian}
version=1.20.2

fetch() { # the source and the packages, by an apt that keeps to this folder
    mkdir -p "$dir/apt/lists/partial" "$dir/apt/cache/archives/partial" "$dir/fetched"
    for kind in deb deb-src; do
        echo "$kind [signed-by=/usr/share/keyrings/debian-archive-keyring.gpg] $mirror bookworm main"
    done >"$dir/apt/sources.list"
    apt="apt-get -q -o Dir::Etc::SourceList=$dir/apt/sources.list -o Dir::Etc::SourceParts=/dev/null -o APT::Sandbox::User=root
        -o Dir::State::Lists=$dir/apt/lists -o Dir::Cache=$dir/apt/cache"
    $apt update
    cd "$dir/fetched"
    $apt source --download-only kubernetes
    $apt download golang-1.19-go golang-1.19-src etcd-server containerd runc containernetworking-plugins kubernetes-client \
        busybox-static
    for package in *.deb; do dpkg-deb -x "$package" "$dir/root"; done
    rm -rf "$dir/kubernetes.new"
    dpkg-source --no-check -x kubernetes_*.dsc "$dir/kubernetes.new"
}

# The vendored reflect2 calls the runtime as it was before Go 1.18: the caller now owns the iterator of a map.
patch_reflect2() {
    cd "$dir/kubernetes.new/vendor/github.com/modern-go/reflect2"
    sed -i -e 's/^func mapiterinit(.*/func mapiterinit(rtype unsafe.Pointer, m unsafe.Pointer, it *hiter)/' \
        -e 's/.*rest fields are ignored/\tt, h, buckets, bptr, overflow, oldoverflow unsafe.Pointer\n\tstart, flags, bucket, check uintptr/' \
        unsafe_link.go
    sed -i -e 's/^\treturn &UnsafeMapIterator{/\tit := \&hiter{}\n\tmapiterinit(type2.rtype, *(*unsafe.Pointer)(obj), it)\n&/' \
        -e 's/mapiterinit(type2.rtype, \*(\*unsafe.Pointer)(obj)),/it,/' unsafe_map.go
}

# Descriptions of all types, which the source does not hold and the API server is compiled with.
generate_openapi() {
    go build -o "$dir/bin/openapi-gen" ./vendor/k8s.io/kube-openapi/cmd/openapi-gen
    dirs=$(grep -Rl --include=*.go '+k8s:openapi-gen=' pkg plugin cmd vendor/k8s.io/ | grep -v 'code-generator\|sample-apiserver' |
        xargs -n1 dirname | sort -u | sed 's,^,k8s.io/kubernetes/,' | paste -sd,)
    "$dir/bin/openapi-gen" -i "$dirs" -p k8s.io/kubernetes/pkg/generated/openapi -O zz_generated.openapi \
        -h vendor/k8s.io/code-generator/hack/boilerplate.go.txt -r "$dir/openapi-violations"
}

if [ ! -e "$dir/kubernetes" ]; then
    fetch
    patch_reflect2
    mv "$dir/kubernetes.new" "$dir/kubernetes"
fi
export GOROOT="$dir/root/usr/lib/go-1.19" GOPATH="$dir/go" GOCACHE="$dir/gocache" GO111MODULE=off CGO_ENABLED=0 GOFLAGS=-p=2
export PATH="$GOROOT/bin:$PATH" GOGC=200
mkdir -p "$dir/bin" "$dir/go/src/k8s.io"
[ -e "$dir/go/src/k8s.io/kubernetes" ] || ln -s "$dir/kubernetes" "$dir/go/src/k8s.io/kubernetes"
cd "$dir/go/src/k8s.io/kubernetes"
[ -e pkg/generated/openapi/zz_generated.openapi.go ] || generate_openapi
says=
for package in client-go/pkg component-base; do
    prefix=k8s.io/kubernetes/vendor/k8s.io/$package/version
    says="$says -X $prefix.gitVersion=v$version -X $prefix.gitMajor=1 -X $prefix.gitMinor=20"
done
for program in kube-apiserver kube-controller-manager kube-scheduler kubelet; do
    [ -e "$dir/bin/$program" ] || go build -tags providerless,dockerless -ldflags "-s -w $says" -o "$dir/bin/$program" "./cmd/$program"
done
for program in etcd containerd containerd-shim-runc-v2 ctr runc kubectl busybox; do
    for folder in usr/bin usr/sbin bin; do
        [ ! -x "$dir/root/$folder/$program" ] || ln -sf "../root/$folder/$program" "$dir/bin/$program"
    done
done
