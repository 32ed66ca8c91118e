#!/usr/bin/env bash
# bench-programs.sh KERNEL-DIRECTORY PREVIRT
# `previrt bench programs` has a figure for every program that is asked for, in each place. What it is decides nothing.
source "$(dirname "${BASH_SOURCE[0]}")/../linux/common.sh"
previrt=$2

status=0
"$previrt" bench programs --columns process,kvm,UML --programs compile,sqlite,git,redis --json "$work/figures.json" \
    2>"$work/messages" >"$work/table" || status=$?
cat "$work/messages" "$work/table"
[ "$status" -eq 0 ] || { echo "bench-programs: FAILED with status $status"; exit 1; }
python3 - "$work/figures.json" <<'CHECK'
import json
import sys

figures = json.load(open(sys.argv[1]))
wanted = {"native", "process", "kvm", "UML"}
assert sorted(figures["times"]) == ["compile", "git", "redis", "sqlite"], sorted(figures["times"])
for program, times in figures["times"].items():
    places = set(times)
    assert {"native", "process", "kvm"} <= places, (program, places)
    assert places | set(figures["left_out"]) == wanted, (program, places, figures["left_out"])
    assert all(len(one["samples"]) == 1 and one["median"] > 0 for one in times.values()), (program, times)
print("bench-programs: every figure is there")
CHECK
