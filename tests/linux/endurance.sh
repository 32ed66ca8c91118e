#!/usr/bin/env bash
# endurance.sh ON KERNEL-DIRECTORY BUILD-DIRECTORY [DIVISOR]
# Much of everything, memory until there is none, and files that must outlive it all. DIVISOR takes a part of the work: 1 is
# all, 20 the least.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
on=$1 kernel=$2 build=$3
"$userland/make-initrd" "$work/initrd" /run-me="$here/guest/endurance.sh" \
    /bin/endurance="$build/tests/linux/endurance"
options=()
[ "$on" = bare ] || options=(--stats "$work/stats.json")
# With --isolate all of the work takes 195 s, on kvm 24.
usual=1
[ "$on" != kvm-isolate ] || usual=4
divisor=${4:-$usual}
SECONDS=0
run_guest "$build/toolchain/previrt" "$on" "$kernel/bzImage" --initrd "$work/initrd" \
    --append "quiet endurance_divisor=$divisor" --memory 128M \
    --timeout 900 "${options[@]}"
if [ "$status" -ne 0 ] || ! grep -q '^endurance: nothing was lost' "$work/console"; then
    echo "endurance: FAILED with status $status"
    exit 1
fi
echo "endurance: $SECONDS s"
[ "$on" = bare ] || python3 "$here/check_stats.py" "$work/stats.json" "$kernel/previrt.json"
