#!/usr/bin/env bash
# exits.sh KERNEL-DIRECTORY PREVIRT
# `previrt bench exits`: the in-place VMM spares the guest its accesses to devices, and adds no exit elsewhere.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
kernel=$1 previrt=$2
status=0
"$previrt" bench exits --json "$work/exits.json" 2>"$work/messages" || status=$?
grep -v '^\.*$' "$work/messages" || true
[ "$status" -eq 0 ] || { echo "exits: FAILED with status $status"; exit 1; }
python3 - "$work/exits.json" <<'PYTHON'
import json
import sys

devices = ["timer_tick", "idle_10_ms", "serial_byte", "serial_interrupt"]
others = ["null_system_call", "fork_and_exec", "page_touch"]
figures = json.load(open(sys.argv[1]))
operations = figures["operations"]
# Elsewhere the host's own interrupts fall as they like.
repeats = figures["place"] == "kvm-nested"
failed = sorted(set(devices + others) ^ set(operations))
for name, counts in operations.items():
    accesses = [counts[side].get("io_exits", 0) for side in ("unrewritten", "in_place")]
    exits = [counts[side].get("exits", 0) for side in ("unrewritten", "in_place")]
    print(f"{name}: accesses {accesses[0]:.3f} and {accesses[1]:.3f}, exits {exits[0]:.3f} and {exits[1]:.3f}")
    if (repeats and exits[1] > exits[0] + 0.05) or (name in devices and accesses[1] * 5 > accesses[0]):
        failed.append(name)
if failed:
    sys.exit(f"exits: FAILED: {' '.join(failed)}")
PYTHON
