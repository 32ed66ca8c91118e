#!/usr/bin/env bash
# bench-idle.sh ON KERNEL-DIRECTORY PREVIRT
# `previrt bench idle` adds up what some guests use that sleep, and leaves none of them. How much it is decides nothing.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
on=$1 previrt=$3

status=0
"$previrt" bench idle --on "$on" --guests 3 --seconds 1 --json "$work/figures.json" 2>"$work/messages" >"$work/table" ||
    status=$?
cat "$work/messages" "$work/table"
[ "$status" -eq 0 ] || { echo "bench-idle: FAILED with status $status"; exit 1; }
python3 - "$work/figures.json" "$on" <<'CHECK'
import json
import sys

figures = json.load(open(sys.argv[1]))
assert figures["guests"] == 3 and figures["on"] == sys.argv[2], figures
assert 0 < figures["launch_seconds"] <= figures["all_up_seconds"], figures
assert figures["watched_seconds"] >= 1, figures
# A guest may sleep through a second.
assert sorted(figures["processor_seconds"]) == ["monitors", "processes"], figures
assert min(figures["processor_seconds"].values()) >= 0, figures
memory = figures["bytes_a_guest"]
if sys.argv[2] == "process":
    assert figures["processes_a_guest"] >= 1, figures
    # A host without user namespaces shows it to root alone.
    assert memory["processes"] is None or memory["processes"] > 2**20, figures
mib = sum(memory[name] or 0 for name in ("monitor", "processes", "page_tables")) / 2**20
assert 5 < mib < 500, mib # a Linux that is up takes some, and has 64 MiB
print("bench-idle: every figure is there")
CHECK
