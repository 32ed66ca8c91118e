#!/usr/bin/env bash
# scattered.sh ON KERNEL-DIRECTORY BUILD-DIRECTORY [MEBIBYTES READS PIECES]
# Programs whose memory is in more ranges than the host lets a process map (vm.max_map_count, 65530 by default) get along.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
on=$1 kernel=$2 build=$3 mebibytes=${4:-208} reads=${5:-200000} pieces=${6:-70000}
# Below the test's own bound, so that the console is shown.
seconds=350
[ $# -lt 4 ] || seconds=1800
# The guest's own bound must not be in the way.
printf '#!/bin/sh\necho 1000000 >/proc/sys/vm/max_map_count\nscattered %s\n' "$mebibytes $reads $pieces" >"$work/run-me"
chmod +x "$work/run-me"
"$userland/make-initrd" "$work/initrd" /run-me="$work/run-me" /bin/scattered="$build/tests/linux/scattered"
run_guest "$build/toolchain/previrt" "$on" "$kernel/bzImage" --initrd "$work/initrd" --append quiet \
    --memory "$((mebibytes + 816))M" --timeout "$seconds"
right=$(grep -c '^scattered: .*: right' "$work/console" || true)
if [ "$status" -ne 0 ] || [ "$right" -ne 5 ]; then
    echo "scattered: FAILED with status $status, $right of 5 right"
    exit 1
fi
