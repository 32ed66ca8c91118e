#!/usr/bin/env bash
# folders.sh ON KERNEL-DIRECTORY BUILD-DIRECTORY
# Folders of this machine in a guest: its root, with and without an overlay, and others that it mounts.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"
on=$1
kernel=$2
build=$3

isolate=()
[[ $on != *-isolate ]] || isolate=(--isolate)
"$here/folders.py" "$work" "$build/toolchain/previrt" run "$kernel/bzImage" --on "${on%-isolate}" "${isolate[@]}"
