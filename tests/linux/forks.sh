#!/usr/bin/env bash
# forks.sh ON KERNEL-DIRECTORY BUILD-DIRECTORY [TIMES]
# A program may fork as often as it likes.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
on=$1 kernel=$2 build=$3 times=${4:-12000}
printf '#!/bin/sh\nforks %s\n' "$times" >"$work/run-me"
chmod +x "$work/run-me"
"$userland/make-initrd" "$work/initrd" /run-me="$work/run-me" /bin/forks="$build/tests/linux/forks"
run_guest "$build/toolchain/previrt" "$on" "$kernel/bzImage" --initrd "$work/initrd" --append quiet --timeout 350
if [ "$status" -ne 0 ] || ! grep -q '^forks: right' "$work/console"; then
    echo "forks: FAILED with status $status"
    exit 1
fi
