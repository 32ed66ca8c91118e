#!/usr/bin/env bash
# stress-rewrite.sh KERNEL-DIRECTORY BUILD-DIRECTORY
# Links the kernel of an output directory of build-linux once more with every site rewritten, and boots it. Where the
# plain kernel is there, the selftests must give its verdicts: they make rewritten sites fault.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
kernel=$1 build=$(realpath "$2")
rewriter=$build/tests/linux/stress-rewrite previrt=$build/toolchain/previrt
require_kernels "$kernel"
# What the build directory now holds is not the kernel: a later build links it anew.
trap 'rm -rf "$work" "$kernel/build/vmlinux" "$kernel/build/arch/x86/boot/bzImage"' EXIT

# Takes previrt's place in the kernel's build: sort-sites VMLINUX.
cat >"$work/previrt" <<SCRIPT
#!/bin/sh
"$previrt" "\$@" && exec "$rewriter" "\$2" >&2
SCRIPT
chmod +x "$work/previrt"
rm -f "$kernel/build/vmlinux"
PREVIRT="$work/previrt" "$kernel/make" bzImage >"$work/log" 2>&1 || { tail -n 20 "$work/log"; exit 1; }
grep '^stress-rewrite: ' "$work/log"
cp "$kernel/build/arch/x86/boot/bzImage" "$work/bzImage"
if cmp -s "$work/bzImage" "$kernel/bzImage"; then
    echo "the rewritten kernel is the same file as the other one"
    exit 1
fi
# nokaslr: a relocation inside a rewritten instruction would no longer be one.
APPEND=nokaslr "$here/boot.sh" bare "$kernel" "$build" "$work/bzImage"
if [ -x "$kernel-plain/make" ]; then
    "$here/selftests.sh" "$previrt" "$kernel" "bare:$kernel-plain/bzImage" "bare:$work/bzImage"
fi
