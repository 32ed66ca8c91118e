#!/usr/bin/env bash
# bench-idle.sh ON KERNEL-DIRECTORY PREVIRT
# `previrt bench idle` adds up what some guests use that sleep, each of which then answers a ping, and leaves none of them.
# How much they use decides nothing, but for what monitors and watches keep of kernel and initrd: nothing.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
on=$1 previrt=$3

# A Linux that is up takes some MiB. The package would be 15 more, and a copy of the whole unpacking 42. Only on a KVM that
# virtualizes the VMM keeps the package.
most=35
[ "$on" = process ] || is_interpreted "$on" || most=50

status=0
"$previrt" bench idle --on "$on" --guests 3 --seconds 1 --net --json "$work/figures.json" 2>"$work/messages" >"$work/table" ||
    status=$?
cat "$work/messages" "$work/table"
[ "$status" -eq 0 ] || { echo "bench-idle: FAILED with status $status"; exit 1; }
python3 - "$work/figures.json" "$on" "$most" <<'CHECK'
import json
import sys

figures = json.load(open(sys.argv[1]))
assert figures["guests"] == 3 and figures["on"] == sys.argv[2], figures
assert 0 < figures["launch_seconds"] <= figures["all_up_seconds"], figures
assert figures["watched_seconds"] >= 1, figures
assert figures["ping"]["answered"] == 3, figures
assert 0 < figures["ping"]["median_seconds"] <= figures["ping"]["longest_seconds"] < 5, figures
# A guest may sleep through a second.
assert sorted(figures["processor_seconds"]) == ["monitors", "processes"], figures
assert min(figures["processor_seconds"].values()) >= 0, figures
memory = figures["bytes_a_guest"]
if sys.argv[2] == "process":
    assert figures["processes_a_guest"] >= 1, figures
    # A host without user namespaces shows it to root alone.
    assert memory["processes"] is None or memory["processes"] > 2**20, figures
mib = sum(memory[name] or 0 for name in ("monitor", "processes", "page_tables")) / 2**20
assert 5 < mib < int(sys.argv[3]), mib
print("bench-idle: every figure is there")
CHECK
