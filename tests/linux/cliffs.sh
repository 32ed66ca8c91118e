#!/usr/bin/env bash
# cliffs.sh ON KERNEL-DIRECTORY BUILD-DIRECTORY [DIVISOR]
# Programs with so many processes, huge pages or mappings that a VMM may run short of something get along, and so does a
# guest without memory: its kernel kills the program that took it all. DIVISOR takes a part of the work: 1 is all.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
on=$1 kernel=$2 build=$3
# With --isolate on kvm, and on an emulated Xen, as much work takes four times as long.
usual=16
[[ $on != @(kvm-isolate|xen) ]] || usual=64
divisor=${4:-$usual}
# Below the test's own bound, so that the console is shown.
seconds=350
[ $# -lt 4 ] || seconds=1800
# The guest's own bound must not be in the way.
make_program_initrd "$build" cliffs "echo 1000000 >/proc/sys/vm/max_map_count
ulimit -n 4096
cliffs $divisor"
SECONDS=0
run_guest "$build/toolchain/previrt" "$on" "$kernel/bzImage" --initrd "$work/initrd" --append quiet \
    --memory "$((3072 / divisor > 144 ? 3072 / divisor : 144))M" --timeout "$seconds"
require_right cliffs cliffs 4
echo "cliffs: $SECONDS s"
