#!/usr/bin/env bash
# bench-net.sh KERNEL-DIRECTORY PREVIRT COLUMN,...
# `previrt bench net` prints a figure for every transfer, in a process and in those others of these columns that work.
# What it is decides nothing.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
previrt=$2 columns=$3

status=0
"$previrt" bench net --columns "$columns" --runs 2 --mebibytes 4 --json "$work/figures.json" \
    2>"$work/messages" >"$work/table" || status=$?
cat "$work/messages" "$work/table"
[ "$status" -eq 0 ] || { echo "bench-net: FAILED with status $status"; exit 1; }
python3 - "$work/figures.json" "$columns" <<'CHECK'
import json
import sys

figures = json.load(open(sys.argv[1]))
wanted = set(sys.argv[2].split(","))
transfers = ["send_1_MiB", "receive_1_MiB", "send_datagram", "receive_datagram"]
rows = transfers + [transfer + "_cpu" for transfer in transfers]
assert sorted(figures["times"]) == sorted(rows), sorted(figures["times"])
places = set(figures["times"]["send_1_MiB"])
assert "process" in places and places | set(figures["left_out"]) == wanted, (places, figures["left_out"])
for row in rows:
    assert set(figures["times"][row]) == places, (row, figures["times"][row])
    for place, times in figures["times"][row].items():
        assert len(times["samples"]) == 2 and min(times["samples"]) >= 0, (row, place, times)
        # Where KVM interprets, Linux counts too little processor time of other programs at times, or none.
        assert (max if row.endswith("_cpu") else min)(times["samples"]) > 0, (row, place, times)
print("bench-net: every figure is there, in", ", ".join(sorted(places)))
CHECK
