#!/usr/bin/env bash
# bench-net.sh KERNEL-DIRECTORY PREVIRT COLUMN,...
# `previrt bench net` prints a figure for every transfer, in a process and in those others of these columns that work.
# Its value decides nothing.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
previrt=$2 columns=$3

rows=send_1_MiB,receive_1_MiB,send_datagram,receive_datagram
run_bench net --columns "$columns" --runs 2 --mebibytes 4
"$here/check_bench.py" "$work/figures.json" 2 process "$columns" "$rows,${rows//,/_cpu,}_cpu"
