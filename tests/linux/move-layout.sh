#!/usr/bin/env bash
# move-layout.sh KERNEL-DIRECTORY BUILD-DIRECTORY
# Links the kernel of an output directory of build-linux once more with all that layout constants name in the lower
# half, as a process has it, and boots it: bare metal has page tables that show what was not moved.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
kernel=$1 build=$(realpath "$2")
relink "$kernel" "$build/toolchain/previrt" "$build/tests/linux/move-layout"
# nokaslr: it would choose other places for memory.
APPEND=nokaslr "$here/boot.sh" bare "$kernel" "$build" "$work/bzImage"
