#!/usr/bin/env bash
# probes.sh ON KERNEL-DIRECTORY BUILD-DIRECTORY
# kprobes, kretprobes, uprobes, ftrace and its graph tracer in a guest: they patch and copy the kernel's text, in which the VMM
# has rewritten sites. A probe on cli, sti or pushf must leave the interrupt flag as the instruction does.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
on=$1 kernel=$2 build=$3
python3 "$here/sites_to_probe.py" "$build/toolchain/previrt" "$kernel/vmlinux" >"$work/sites"
gcc-12 -O1 -Wall -Wextra -Werror -static -no-pie "$here/guest/probed.c" -o "$work/probed"
# The offset in the file: the image begins at 0x400000.
echo "triple $(nm "$work/probed" | sed -n 's/^0*4\([0-9a-f]*\) T triple$/0x\1/p')" >"$work/uprobes"
"$userland/make-initrd" "$work/initrd" /run-me="$here/guest/probes.sh" /sites="$work/sites" /uprobes="$work/uprobes" \
    /bin/probed="$work/probed"
SECONDS=0
run_guest "$build/toolchain/previrt" "$on" "$kernel/bzImage" --initrd "$work/initrd" --append quiet --timeout 350
parts=14
! grep -q '^CONFIG_RETHUNK=y' "$kernel/config" || parts=13 # no optimised ones
require_right probes probes "$parts"
echo "probes: $SECONDS s"
