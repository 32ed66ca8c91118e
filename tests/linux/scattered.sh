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
scattered $mebibytes $reads $pieces"
run_guest "$build/toolchain/previrt" "$on" "$kernel/bzImage" --initrd "$work/initrd" --append quiet \
    --memory "$((mebibytes + 816))M" --timeout "$seconds"
require_right scattered scattered 5
