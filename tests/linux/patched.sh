#!/usr/bin/env bash
# patched.sh ON KERNEL-DIRECTORY PREVIRT PROCESSORS [TOGGLES]
# In a guest with several processors, Linux turns probes, a tracer and branches of its own text on and off while all processors execute
# it. What is on is hit on each of them, and the kernel complains of nothing.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
on=$1 kernel=$2 previrt=$3 processors=$4 toggles=${5:-40}

linking=()
[[ $on != @(kvm-nested|xen*) ]] || linking=(-static)
gcc -O2 -Wall -Wextra -pthread "${linking[@]}" -o "$work/patched" "$here/guest/patched.c"
cat >"$work/guest.sh" <<'END'
"$1/patched" "$2" "$3" || exit 1
if dmesg | grep -E 'BUG:|WARNING: CPU|Oops|stall|soft lockup|hung|Call Trace'; then
    exit 1
fi
echo "the kernel complains of nothing"
END

status=0
if [[ $on = @(kvm-nested|xen*) ]]; then # they have no folders, and are emulated: each processor would measure its speed for seconds
    printf '#!/bin/sh\nsh /guest.sh /bin %s %s\n' "$processors" "$toggles" >"$work/run-me"
    chmod +x "$work/run-me"
    "$userland/make-initrd" "$work/initrd" /run-me="$work/run-me" /guest.sh="$work/guest.sh" /bin/patched="$work/patched"
    run_guest "$previrt" "$on" "$kernel/bzImage" --cpus "$processors" --timeout $((1200 + toggles)) \
        --append "quiet lpj=4000000" --initrd "$work/initrd" >"$work/said"
    grep -q '^run-me: status 0' "$work/said" || status=1
else
    isolate=()
    [[ $on != *-isolate ]] || isolate=(--isolate)
    timeout $((4000 + toggles)) "$previrt" run "$kernel/bzImage" --on "${on%-isolate}" "${isolate[@]}" --cpus "$processors" --root / \
        --share "$work" -- sh "$work/guest.sh" "$work" "$processors" "$toggles" </dev/null >"$work/said" 2>&1 || status=$?
fi
cat "$work/said"
grep -qx "patched: all right" "$work/said" && grep -qx "the kernel complains of nothing" "$work/said" && [ "$status" -eq 0 ] || {
    echo "patched: FAILED: status $status"
    exit 1
}
