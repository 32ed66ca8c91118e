#!/usr/bin/env bash
# data.sh ON KERNEL-DIRECTORY BUILD-DIRECTORY [long [PART ...]]
# Data of a guest's disk, in the hands of real programs: none is lost, and none is wrong. `long`: all of it, which takes hours. The kernel
# has to have asynchronous I/O and file systems.
. "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
on=$1 kernel=$2 build=$3 form=${4:-short}
shift $(($# < 4 ? $# : 4))

isolate=()
[[ $on != *-isolate ]] || isolate=(--isolate)
# On a disk, as a user's files are: a file in memory has no flush.
place=$(mktemp -d "${PREVIRT_DATA:-/var/tmp}/previrt-data-XXXXXX")
trap 'rm -rf "$work" "$place"' EXIT
"$here/data/data.py" "$form" "$place" "$*" "$build/toolchain/previrt" run "$kernel/bzImage" --on "${on%-isolate}" "${isolate[@]}"
