#!/usr/bin/env bash
# initrd.sh ON KERNEL-DIRECTORY PREVIRT
# An initrd may be compressed by whatever distributions use, and a command's own archive in front of it does not matter.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
on=$1 kernel=$2 previrt=$3
printf '#!/bin/sh\necho "initrd: $(cat /compression): right"\n' >"$work/run-me"
chmod +x "$work/run-me"
initrds=0
compress() { # NAME COMMAND ...
    local name=$1
    shift
    echo "$name" >"$work/compression"
    "$userland/make-initrd" "$work/packed" /run-me="$work/run-me" /compression="$work/compression"
    zcat "$work/packed" | "$@" >"$work/initrd"
    run_guest "$previrt" "$on" "$kernel/bzImage" --initrd "$work/initrd" --append quiet --timeout 60
    require_right initrd initrd 1
    run_guest "$previrt" "$on" "$kernel/bzImage" --initrd "$work/initrd" --append quiet --timeout 60 -- cat /compression
    if [ "$status" -ne 0 ] || [ "$(cat "$work/console")" != "$name" ]; then
        echo "initrd: FAILED with status $status for a command"
        exit 1
    fi
    initrds=$((initrds + 1))
}
compress none cat
compress gzip gzip
compress xz xz --check=crc32
compress lz4 lz4 -l
compress zstd zstd -q
echo "initrd: $initrds forms"
