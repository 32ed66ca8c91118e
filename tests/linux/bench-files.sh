#!/usr/bin/env bash
# bench-files.sh KERNEL-DIRECTORY PREVIRT COLUMN,...
# `previrt bench files` prints a figure for each of some rows, on this machine, in a process, and in those others of these columns that
# work. What it is decides nothing. The tree of files is a small one, without a kernel to compile.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
previrt=$2 columns=$3

mkdir "$work/source"
cp -r "$here/../../docs" "$work/source"
rows=read_4k_depth_32,cold_1_MiB,find,git_status,untar,write_4k_and_fsync
run_bench files --columns "$columns" --rows "$rows" --seconds 1 --mebibytes 16 --source "$work/source"
"$here/check_bench.py" "$work/figures.json" 1 native,process "$columns" "$rows,${rows//,/_cpu,}_cpu"
