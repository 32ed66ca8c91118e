#!/usr/bin/env bash
# Further commands in a running guest, and its end: sessions.sh ON KERNEL-DIRECTORY BUILD-DIRECTORY [RUNS]. RUNS commands one after
# the other (50).
. "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
on=$1
kernel=$2
build=$3

"$userland/make-initrd" "$work/initrd"
isolate=()
[[ $on != *-isolate ]] || isolate=(--isolate)
"$here/commands/sessions.py" "$work" "$work/initrd" "${4:-50}" "$build/toolchain/previrt" run "$kernel/bzImage" --on "${on%-isolate}" "${isolate[@]}"
