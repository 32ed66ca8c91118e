#!/bin/sh
# Runs in a guest: the kernel's own selftests, one line each: verdict NAME STATUS.
for test in /selftests/*; do
    timeout 60 "$test" >/tmp/output 2>&1
    status=$?
    echo "verdict $(basename "$test") $status"
    [ $status = 0 ] || tail -n 3 /tmp/output
done
bad=$(dmesg | grep -E 'BUG|WARNING|Oops|unchecked MSR')
echo "verdict kernel-log ${bad:-0}"
