#!/usr/bin/env bash
# stress-rewrite.sh KERNEL-DIRECTORY BUILD-DIRECTORY
# Links the kernel of an output directory of build-linux once more with every site rewritten, and boots it. Where the
# plain kernel is there, the selftests must give its verdicts: they make rewritten sites fault.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
kernel=$1 build=$(realpath "$2")
previrt=$build/toolchain/previrt
relink "$kernel" "$previrt" "$build/tests/linux/stress-rewrite"
# nokaslr: a relocation inside a rewritten instruction would no longer be one.
APPEND=nokaslr "$here/boot.sh" bare "$kernel" "$build" "$work/bzImage"
if [ -x "$kernel-plain/make" ]; then
    "$here/selftests.sh" "$previrt" "$kernel" "bare:$kernel-plain/bzImage" "bare:$work/bzImage"
fi
