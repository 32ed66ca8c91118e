# shellcheck shell=bash
# Shared by ./check and ./quickstart, which run it from the tree's root.

# The packages that a fresh Debian 12 needs to build the tools, and further ones to test them.
# shellcheck disable=SC2034
build_packages=(
    binutils ca-certificates cmake g++-12 gcc-12 git libbz2-dev libcli11-dev libelf-dev
    libgtest-dev liblz4-dev liblzma-dev liblzo2-dev libnbd-dev libseccomp-dev libslirp-dev liburing-dev libxen-dev libzstd-dev
    llvm-19-dev nettle-dev ninja-build nlohmann-json3-dev pkg-config python3 zlib1g-dev
)
# To build kernels, and to boot them on bare metal.
# shellcheck disable=SC2034
kernel_packages=(
    bc bison busybox-static cpio flex kmod libssl-dev lz4 make patch perl qemu-system-x86 rsync xz-utils
)
# fio, pip, and the tools of file systems, images and networks: programs that know nothing of previrt judge what a guest does.
# A guest whose root is this machine's finds its devices by udev. Its programs of 32 bits are built by gcc too. podman
# starts containers by runc, and by previrt-oci.
# shellcheck disable=SC2034
test_packages=(
    btrfs-progs ccache clang-19 clang-format-19 clang-tidy-19 conmon debootstrap e2fsprogs fio iproute2 iptables
    lib32gcc-12-dev libc6-dev-i386 libclang-19-dev libclang-rt-19-dev lld-19 llvm-19 nftables podman python3-pip
    qemu-system-common qemu-utils rt-tests runc udev xfsprogs zstd
)

step() { printf '\n\033[1;34m==> %s\033[0m\n' "$*"; }

install_packages() {
    local missing=() package
    for package in "$@"; do
        dpkg-query -W -f='${db:Status-Status}\n' "$package" 2>/dev/null | grep -qx installed || missing+=("$package")
    done
    [ ${#missing[@]} -gt 0 ] || return 0
    step "installing ${#missing[@]} packages: ${missing[*]}"
    local as_root=()
    if [ "$(id -u)" -ne 0 ]; then
        if ! command -v sudo >/dev/null; then
            echo "these packages are missing and this is not root: install them, then run again" >&2
            exit 2
        fi
        as_root=(sudo)
    fi
    "${as_root[@]}" apt-get update -q
    "${as_root[@]}" env DEBIAN_FRONTEND=noninteractive apt-get install -q -y --no-install-recommends "${missing[@]}"
}

# build PRESET [TARGET ...]
build() {
    local preset=$1
    shift
    cmake --preset "$preset" --log-level=WARNING
    cmake --build --preset "$preset" ${1:+--target "$@"}
}
