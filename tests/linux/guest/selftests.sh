#!/bin/sh
# Runs in a guest: the kernel's own selftests. For each, `verdict NAME STATUS`, and how often it printed each of its
# checks, numbers aside.
for test in /selftests/*; do
    name=$(basename "$test")
    timeout "${TIMEOUT:-300}" "$test" >/tmp/output 2>&1
    status=$?
    echo "verdict $name $status"
    grep -E '^\[(OK|FAIL|SKIP|WARN)\]' /tmp/output | sed -E 's/(0x)+[0-9a-fA-F]+|[0-9]+/N/g' | sort | uniq -c |
        sed -E "s/^ *([0-9]+) /verdict $name: \1 x /"
    [ $status = 0 ] || tail -n 3 /tmp/output
done
# What it says of the processor's own weaknesses is no fault of the kernel's.
bad=$(dmesg | grep -vE 'hw-vuln|RETBleed:' | grep -E 'BUG|WARNING|Oops|unchecked MSR')
echo "verdict kernel-log ${bad:-0}"
