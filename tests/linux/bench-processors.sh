#!/usr/bin/env bash
# bench-processors.sh KERNEL-DIRECTORY PREVIRT COLUMN,...
# `previrt bench processors` prints a figure for every row but the kernel's, in those of these columns that work: processes do. What it
# is decides nothing.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
previrt=$2 columns=$3

rows=compute,page_faults,fork_exec,pipe_across,futex_across,membarrier,tlb_shootdown,hackbench,compile
run_bench processors --columns "$columns" --rows "$rows" --seconds 1
"$here/check_bench.py" "$work/figures.json" 1 "native,process,process 2" "$columns" "$rows"
