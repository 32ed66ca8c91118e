#!/usr/bin/env bash
# bench-files.sh KERNEL-DIRECTORY PREVIRT COLUMN,...
# `previrt bench files` prints a figure for each of some rows, on this machine, in a process, and in those others of these columns that
# work. What it is decides nothing. The tree of files is a small one, without a kernel to compile.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
previrt=$2 columns=$3

mkdir "$work/source"
cp -r "$here/../../docs" "$work/source"
rows=read_4k_depth_32,cold_1_MiB,find,git_status,untar,write_4k_and_fsync
status=0
"$previrt" bench files --columns "$columns" --rows "$rows" --seconds 1 --mebibytes 16 --source "$work/source" \
    --json "$work/figures.json" 2>"$work/messages" >"$work/table" || status=$?
cat "$work/messages" "$work/table"
[ "$status" -eq 0 ] || { echo "bench-files: FAILED with status $status"; exit 1; }
python3 - "$work/figures.json" "$columns" "$rows" <<'CHECK'
import json
import sys

figures = json.load(open(sys.argv[1]))
wanted = {"native", *sys.argv[2].split(",")}
rows = sys.argv[3].split(",")
assert sorted(figures["times"]) == sorted(rows + [row + "_cpu" for row in rows]), sorted(figures["times"])
places = {place for times in figures["times"].values() for place in times}
assert {"native", "process"} <= places and places | set(figures["left_out"]) == wanted, (places, figures["left_out"])
for row, times in figures["times"].items():
    assert set(times) == places, (row, set(times))
    for place, one in times.items():
        assert len(one["samples"]) == 1 and one["median"] > 0, (row, place, one)
print("bench-files: every figure is there, in", ", ".join(sorted(places)))
CHECK
