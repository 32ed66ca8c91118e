#!/usr/bin/env bash
# bench-places.sh kvm|process KERNEL-DIRECTORY PREVIRT COLUMN,...
# `previrt bench kvm` and `bench process` print a figure for every operation, in each place that has to work and in those
# others of these columns that do. What it is decides nothing.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
bench=$1 previrt=$3 columns=$4

run_bench "$bench" --columns "$columns" --runs 2 --sample 500 --plot "$work/chart.svg"
"$previrt" bench plot "$work/figures.json" --plot "$work/again.svg"
cmp "$work/chart.svg" "$work/again.svg" || { echo "bench-places: FAILED: the chart is not that of the figures"; exit 1; }
python3 - "$work/figures.json" "$bench" "$columns" "$work/chart.svg" <<'CHECK'
import json
import sys
import xml.etree.ElementTree

figures = json.load(open(sys.argv[1]))
ours = {"kvm": {"kvm", "kvm --isolate"}, "process": {"process", "process --no-syscall-rewrite", "process --isolate"}}
places = set(figures["places"])
wanted = set(sys.argv[3].split(","))
assert {"native"} | (ours[sys.argv[2]] & wanted) <= places, places
assert places | set(figures["left_out"]) == {"native"} | wanted, (places, figures["left_out"])
operations = """launch memory_walk alu null_system_call clock_gettime clock_system_call write_to_null stat select signal pipe
    context_switch page_touch protect_twice map_and_unmap map_and_touch fork_and_wait fork_and_exec
    create_and_delete""".split()
assert sorted(figures["times"]) == sorted(operations), sorted(figures["times"])
for operation in operations:
    measured = figures["times"][operation]
    assert set(measured) == places - ({"native"} if operation == "launch" else set()), (operation, set(measured))
    for place, times in measured.items():
        assert len(times["samples"]) == 2 and min(times["samples"]) > 0, (operation, place, times)
        assert times["lower_quartile"] <= times["median"] <= times["upper_quartile"], (operation, place, times)
chart = "".join(xml.etree.ElementTree.parse(sys.argv[4]).getroot().itertext())
assert all(f"{operation}, {place}: " in chart for operation in operations for place in places - {"native"}), chart
print("bench-places: every figure is there, in", ", ".join(sorted(places)))
CHECK
