#!/usr/bin/env bash
# forks.sh ON KERNEL-DIRECTORY BUILD-DIRECTORY [TIMES]
# A program may fork as often as it likes.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
on=$1 kernel=$2 build=$3 times=${4:-12000}
make_program_initrd "$build" forks "forks $times"
run_guest "$build/toolchain/previrt" "$on" "$kernel/bzImage" --initrd "$work/initrd" --append quiet --timeout 350
if [ "$status" -ne 0 ] || ! grep -q '^forks: right' "$work/console"; then
    echo "forks: FAILED with status $status"
    exit 1
fi
