#!/usr/bin/env bash
# patched.sh ON KERNEL-DIRECTORY PREVIRT PROCESSORS [TOGGLES]
# In a guest with several processors, Linux turns probes, a tracer and branches of its own text on and off while all processors execute
# it. What is on is hit on each of them, and the kernel complains of nothing.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
on=$1 kernel=$2 previrt=$3 processors=$4 toggles=${5:-40}

gcc -O2 -Wall -Wextra -pthread -o "$work/patched" "$here/guest/patched.c"
cat >"$work/guest.sh" <<'END'
"$1/patched" "$2" "$3" || exit 1
if dmesg | grep -E 'BUG:|WARNING: CPU|Oops|stall|soft lockup|hung|Call Trace'; then
    exit 1
fi
echo "the kernel complains of nothing"
END

status=0
timeout 4000 "$previrt" run "$kernel/bzImage" --on "$on" --cpus "$processors" --root / --share "$work" -- \
    sh "$work/guest.sh" "$work" "$processors" "$toggles" </dev/null >"$work/said" 2>&1 || status=$?
cat "$work/said"
grep -qx "patched: all right" "$work/said" && grep -qx "the kernel complains of nothing" "$work/said" && [ "$status" -eq 0 ] || {
    echo "patched: FAILED: status $status"
    exit 1
}
