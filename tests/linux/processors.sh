#!/usr/bin/env bash
# processors.sh ON KERNEL-DIRECTORY PREVIRT PROCESSORS [SECONDS]
# A guest with several processors: programs run on each of them, several at a time; memory that threads share, and that one of them
# takes away from the others; processors that are taken out and put back under load. The kernel complains of nothing.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
on=$1 kernel=$2 previrt=$3 processors=$4 seconds=${5:-5}
isolate=()
[[ $on != *-isolate ]] || isolate=(--isolate)

# Places without folders boot an initrd with the same script.
linking=()
[[ $on != @(kvm-nested|xen*) ]] || linking=(-static)
gcc -O2 -pthread "${linking[@]}" -o "$work/shared" "$here/guest/shared.c"
cat >"$work/guest.sh" <<'END'
set -e
trap '[ $? -eq 0 ] || dmesg | tail -n 20' EXIT
processors=$1 seconds=$2 folder=$3 lines=$4
[ "$(nproc)" -eq "$processors" ] || { echo "nproc says $(nproc)"; exit 1; }
echo "processors: $processors"
for number in $(seq 0 $((processors - 1))); do
    taskset -c "$number" sh -c 'set -- $(cat /proc/self/stat); shift 38; echo "runs on processor $1"'
done
seq 1 "$lines" >/tmp/numbers
wanted=$(sha256sum </tmp/numbers)
for number in $(seq 1 $((processors * 2))); do
    (for round in 1 2 3; do [ "$(sort -n /tmp/numbers | sha256sum)" = "$wanted" ] || exit 1; done) &
    workers="$workers $!"
done
for worker in $workers; do wait "$worker"; done
echo "all sorted"
"$folder/shared" "$processors" "$seconds"
load() { while :; do sort -n /tmp/numbers >/dev/null; done; }
load & first=$!
load & second=$!
end=$(($(date +%s) + seconds))
rounds=0
while [ "$rounds" -eq 0 ] || [ "$(date +%s)" -lt "$end" ]; do
    for number in $(seq 1 $((processors - 1))); do echo 0 >"/sys/devices/system/cpu/cpu$number/online"; done
    [ "$(nproc)" -eq 1 ]
    for number in $(seq 1 $((processors - 1))); do echo 1 >"/sys/devices/system/cpu/cpu$number/online"; done
    [ "$(nproc)" -eq "$processors" ]
    rounds=$((rounds + 1))
done
kill "$first" "$second"
echo "processors went and came"
if dmesg | grep -E 'BUG:|WARNING: CPU|Oops|stall|soft lockup|hung|clocksource: .*unstable|Call Trace'; then
    exit 1
fi
echo "the kernel complains of nothing"
END

status=0
if [[ $on = @(kvm-nested|xen*) ]]; then # emulated, where each processor would measure its speed for seconds
    printf '#!/bin/sh\nsh /guest.sh %s %s /bin 5000\n' "$processors" "$seconds" >"$work/run-me"
    chmod +x "$work/run-me"
    "$userland/make-initrd" "$work/initrd" /run-me="$work/run-me" /guest.sh="$work/guest.sh" /bin/shared="$work/shared"
    run_guest "$previrt" "$on" "$kernel/bzImage" --cpus "$processors" --timeout 1200 --append "quiet lpj=4000000" \
        --initrd "$work/initrd" >"$work/said"
    grep -q '^run-me: status 0' "$work/said" || status=1
else
    timeout 600 "$previrt" run "$kernel/bzImage" --on "${on%-isolate}" "${isolate[@]}" --cpus "$processors" --root / --share "$work" -- \
        sh "$work/guest.sh" "$processors" "$seconds" "$work" 200000 </dev/null >"$work/said" 2>&1 || status=$?
fi
cat "$work/said"
for line in "processors: $processors" "all sorted" "shared memory holds" "processors went and came" "the kernel complains of nothing"; do
    grep -qx "$line" "$work/said" || { echo "processors: FAILED: no line '$line'"; exit 1; }
done
[ "$(grep -c '^runs on processor' "$work/said")" -eq "$processors" ] && [ "$status" -eq 0 ] || {
    echo "processors: FAILED: status $status"
    exit 1
}
