#!/usr/bin/env bash
# endurance.sh ON KERNEL-DIRECTORY BUILD-DIRECTORY
# Much of everything, memory until there is none, and files that must outlive it all.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
on=$1 kernel=$2 build=$3
"$userland/make-initrd" "$work/initrd" /run-me="$here/guest/endurance.sh" \
    /bin/endurance="$build/tests/linux/endurance"
options=()
[ "$on" = bare ] || options=(--stats "$work/stats.json")
# With --isolate all of the work takes 195 s, on kvm 24.
divisor=1
[ "$on" != kvm-isolate ] || divisor=4
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
