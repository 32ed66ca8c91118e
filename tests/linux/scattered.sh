#!/usr/bin/env bash
# scattered.sh ON KERNEL-DIRECTORY BUILD-DIRECTORY [MEBIBYTES READS PIECES]
# Programs whose memory is in more ranges than the host lets a process map (vm.max_map_count, 65530 by default) get along.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
on=$1 kernel=$2 build=$3 mebibytes=${4:-208} reads=${5:-200000} pieces=${6:-70000}
# Below the test's own bound, so that the console is shown.
seconds=350
[ $# -lt 4 ] || seconds=1800
# The guest's own bound must not be in the way.
make_program_initrd "$build" scattered "echo 1000000 >/proc/sys/vm/max_map_count
scattered $mebibytes $reads $pieces
# Pages in such a list keep the blocks around them from being huge pages.
awk '\$1 == \"count:\" && \$2 > 1000 { exit 1 }' /proc/zoneinfo && echo 'scattered: short lists of free pages: right'"
run_guest "$build/toolchain/previrt" "$on" "$kernel/bzImage" --initrd "$work/initrd" --append quiet \
    --memory "$((mebibytes + 816))M" --timeout "$seconds"
require_right scattered scattered 6
