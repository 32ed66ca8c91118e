#!/usr/bin/env bash
# bench-net-xen.sh KERNEL-DIRECTORY PREVIRT COLUMN,...
# `previrt bench net --on xen` prints a figure for every transfer in these columns. What it is decides nothing.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
previrt=$2 columns=$3

status=0
"$previrt" bench net --on xen --columns "$columns" --mebibytes 1 --json "$work/figures.json" \
    2>"$work/messages" >"$work/table" || status=$?
cat "$work/messages" "$work/table"
[ "$status" -eq 0 ] || { echo "bench-net-xen: FAILED with status $status"; exit 1; }
python3 - "$work/figures.json" "$columns" <<'CHECK'
import json
import sys

figures = json.load(open(sys.argv[1]))
wanted = sys.argv[2].split(",")
transfers = ["send_1_MiB", "receive_1_MiB", "send_datagram", "receive_datagram"]
rows = [transfer + used for transfer in transfers for used in ("", "_cpu", "_guest")]
assert sorted(figures["times"]) == sorted(rows), sorted(figures["times"])
assert figures["unit"] == "instructions" and not figures["left_out"], figures["left_out"]
for row in rows:
    assert sorted(figures["times"][row]) == sorted(wanted), (row, figures["times"][row])
    for column, times in figures["times"][row].items():
        assert len(times["samples"]) == 1 and times["samples"][0] > 0, (row, column, times)
for transfer in transfers: # dom0 works too
    for column in wanted:
        both, guest = (figures["times"][transfer + who][column]["median"] for who in ("_cpu", "_guest"))
        assert guest < both, (transfer, column, guest, both)
assert figures["counters"]["packets_sent"] > 1 << 20 >> 11, figures["counters"]
print("bench-net-xen: every figure is there, in", ", ".join(wanted))
CHECK
