#!/usr/bin/env bash
# audit.sh KERNEL-DIRECTORY PREVIRT
# The kernel's and each module's records are complete; the JSON report agrees.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
kernel=$1 previrt=$2
"$previrt" audit "$kernel/bzImage"
find "$kernel/modules" -name '*.ko' -print0 | xargs -0 -n1 "$previrt" audit
python3 - "$kernel/previrt.json" <<'PYTHON'
import json
import sys

report = json.load(open(sys.argv[1]))
sites = sum(report["sites"].values())
print(f"{report['kernel']}: {sites} sites, {report['patch_lines']} patch lines")
# The kinds that no kernel is without, so that an empty table cannot pass.
assert report["complete"] and all(report["sites"].get(kind, 0) > 0 for kind in (
    "cli", "sti", "pushf", "iret", "swapgs", "wrmsr", "mov_to_control", "page_table_write", "mmio_read"))
PYTHON
