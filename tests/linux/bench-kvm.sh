#!/usr/bin/env bash
# bench-kvm.sh KERNEL-DIRECTORY PREVIRT
# `previrt bench kvm` prints a figure for every operation, in every place that works. What it is decides nothing.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
previrt=$2
require_kernels "$1"

status=0
"$previrt" bench kvm --runs 2 --sample 500 --json "$work/figures.json" 2>"$work/messages" >"$work/table" || status=$?
cat "$work/messages" "$work/table"
skip_if_refused "$status" "$work/messages"
[ "$status" -eq 0 ] || { echo "bench-kvm: FAILED with status $status"; exit 1; }
python3 - "$work/figures.json" <<'CHECK'
import json
import sys

figures = json.load(open(sys.argv[1]))
places = set(figures["places"])
assert {"native", "kvm", "kvm --isolate"} <= places, places
operations = """launch memory_walk alu null_system_call signal pipe context_switch page_touch protect_twice map_and_touch
    fork_and_wait fork_and_exec create_and_delete""".split()
assert sorted(figures["times"]) == sorted(operations), sorted(figures["times"])
for operation in operations:
    measured = figures["times"][operation]
    assert set(measured) == places - ({"native"} if operation == "launch" else set()), (operation, set(measured))
    for place, times in measured.items():
        assert len(times["samples"]) == 2 and min(times["samples"]) > 0, (operation, place, times)
        assert times["lower_quartile"] <= times["median"] <= times["upper_quartile"], (operation, place, times)
print("bench-kvm: every figure is there, in", ", ".join(sorted(places)))
CHECK
