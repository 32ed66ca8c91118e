#!/usr/bin/env bash
# A command in a guest behaves as on this machine: command.sh ON KERNEL-DIRECTORY BUILD-DIRECTORY [RUNS]. RUNS runs in a row,
# without a terminal, on one, and under signals in turn, leave nothing behind (50).
. "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
on=$1
kernel=$2
build=$3

"$userland/make-initrd" "$work/initrd"
mkdir "$work/tmp"
isolate=()
[[ $on != *-isolate ]] || isolate=(--isolate)
TMPDIR=$work/tmp "$here/commands/command.py" "${4:-50}" "$build/toolchain/previrt" run --on "${on%-isolate}" "${isolate[@]}" \
    "$kernel/bzImage" --initrd "$work/initrd"
