#!/usr/bin/env bash
# kvm-refusals.sh CASE PREVIRT KERNEL
# What --on kvm lacks is said in one line that has the remedy, with status 2. KERNEL may be any.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
case=$1 previrt=$2 kernel=$3

refused() { # TEXT COMMAND ...
    local text=$1 status=0
    shift
    "$@" </dev/null >"$work/console" 2>"$work/messages" || status=$?
    cat "$work/console" "$work/messages"
    # Before the refusal the kernel and the place are named.
    [ "$status" -eq 2 ] || { echo "FAILED: status $status instead of 2"; exit 1; }
    [ "$(grep -vc 'sha256 .* on kvm: ' "$work/messages")" -eq 1 ] && [ ! -s "$work/console" ] ||
        { echo "FAILED: not one line"; exit 1; }
    grep -qFe "$text" "$work/messages" || { echo "FAILED: no '$text'"; exit 1; }
}

# With a /dev of its own, of which a command says what is in it.
with_devices() { # COMMAND PROGRAM ...
    local command=$1 unshare=(unshare --mount)
    shift
    [ "$(id -u)" -eq 0 ] || unshare+=(--map-root-user)
    "${unshare[@]}" sh -c "mount -t tmpfs none /dev; $command; exec \"\$@\"" sh "$@"
}

run=("$previrt" run --on kvm "$kernel")
case $case in
no-kvm)
    refused '/dev/kvm: No such file or directory: this host has no KVM (modprobe kvm_intel or kvm_amd, ' \
        with_devices : "${run[@]}"
    ;;
not-kvm)
    refused '/dev/kvm: it is not KVM: Inappropriate ioctl for device; --on bare and --on xen need no KVM' \
        with_devices ': >/dev/kvm' "${run[@]}"
    ;;
no-permission)
    if [ -w /dev/kvm ]; then
        nobody=(setpriv --reuid 65534 --regid 65534 --clear-groups)
        # By descriptor: that user may not be let into these directories.
        exec 8<"$kernel" 9<"$previrt"
        run=("${nobody[@]}" /proc/self/fd/9 run --on kvm /proc/self/fd/8)
    fi
    refused '/dev/kvm: Permission denied: you may not use it (' "${run[@]}"
    ;;
too-little-memory)
    refused '--memory: a kernel needs 32M at least' "${run[@]}" --memory 31M
    there=$(awk '/^(MemTotal|SwapTotal):/ { kib += $2 } END { print int(kib / 1024) + 1 }' /proc/meminfo)
    refused ': give it less' "${run[@]}" --memory "${there}M"
    ulimit -v $((1 << 21))
    refused ' MiB for the guest and its VMM: Cannot allocate memory: give it less, or raise the limit (ulimit -v)' \
        "${run[@]}" --memory 2G
    ;;
esac
echo "passed: $case"
