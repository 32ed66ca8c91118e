#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""check_bench.py FIGURES RUNS WORKING,... COLUMN,... ROW,...
The file that a bench saved has a figure of each run for every row, in each column that is not left out. A WORKING
column must not be left out. Only a row _cpu may have a figure of 0 beside others: where KVM interprets, Linux counts
too little processor time of other programs at times, or none."""
import json
import sys

figures = json.load(open(sys.argv[1]))
runs = int(sys.argv[2])
working, wanted, rows = (set(names.split(",")) for names in sys.argv[3:])
assert set(figures["times"]) == rows, sorted(figures["times"])
places = {place for times in figures["times"].values() for place in times}
assert working <= places and places | set(figures["left_out"]) == working | wanted, (places, figures["left_out"])
for row, times in figures["times"].items():
    assert set(times) == places, (row, set(times))
    for place, one in times.items():
        assert len(one["samples"]) == runs and min(one["samples"]) >= 0, (row, place, one)
        assert (max if row.endswith("_cpu") else min)(one["samples"]) > 0, (row, place, one)
print("every figure is there, in", ", ".join(sorted(places)))
