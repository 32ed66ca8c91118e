#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# polled_disk.sh PLACE GUEST PREVIRT
# Runs polled_disk.c with a disk whose blocks begin with their numbers. PLACE-isolate: with --isolate.
set -euo pipefail
place=$1 guest=$2 previrt=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
isolate=()
[[ $place != *-isolate ]] || isolate=(--isolate)
python3 -c 'import sys
for block in range(2048):
    sys.stdout.buffer.write(block.to_bytes(8, "little") + bytes(504))' >"$work/disk"
status=0
"$previrt" run --on "${place%-isolate}" --memory 64M --timeout 60 "${isolate[@]}" --disk "$work/disk" "$guest" \
    </dev/null >"$work/output" || status=$?
cat "$work/output"
stated=$(sed -n 's/^ \* checks: //p' "$(dirname "$0")/polled_disk.c")
if [ "$status" -ne 0 ] || grep -q FAIL "$work/output" || [ "$(grep -c '^ok: ' "$work/output" || true)" -ne "$stated" ]; then
    echo "polled_disk: FAILED: status $status, or not $stated checks"
    exit 1
fi
