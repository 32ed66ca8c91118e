#!/usr/bin/env bash
# clock.sh ON KERNEL-DIRECTORY BUILD-DIRECTORY
# A guest's clocks beside the host's while others take the processors, from before the guest starts: its monotonic clock
# and its sleeps keep pace, its date is right, and Linux trusts the time-stamp counter. What is asserted is half and
# double: a busy machine delays what a guest says.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
on=$1 kernel=$2 build=$3
"$userland/make-initrd" "$work/initrd" /run-me="$here/guest/clock.sh"
busy=()
trap 'kill "${busy[@]}"; rm -rf "$work"' EXIT
for _ in $(seq $((2 * $(nproc)))); do
    while true; do :; done &
    busy+=($!)
done
options=() checks=()
[[ $on != *-isolate ]] || options+=(--isolate)
# The date is Xen's: on a busy machine it loses seconds while QEMU emulates its start.
[[ $on != xen* ]] || checks+=(--no-date)
status=0
"$build/toolchain/previrt" run --on "${on%-isolate}" "${options[@]}" "$kernel/bzImage" --initrd "$work/initrd" \
    --append quiet --timeout 300 </dev/null 2>"$work/messages" | python3 "$here/check_clock.py" "${checks[@]}" || status=$?
cat "$work/messages"
exit "$status"
