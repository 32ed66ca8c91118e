#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""check_stats.py STATS PREVIRT-JSON [--system-calls]: every record of the kernel was treated, and rewriting left
nothing to traps; frequent system calls of programs have been rewritten. The guest had PREVIRT_PROCESSORS processors."""
import json
import os
import sys

# A processor that starts has no stack at these sites, so that their calls of the VMM fault.
without_stack = {"mov_to_control": 2, "mov_to_segment": 5, "lgdt": 1, "wrmsr": 1}
started = int(os.environ.get("PREVIRT_PROCESSORS") or 1) - 1

stats = json.load(open(sys.argv[1]))
recorded = json.load(open(sys.argv[2]))["sites"]
treated = {kind: sum(ways.values()) for kind, ways in stats["sites_rewritten"].items()}

# Modules add to it.
missing = {kind: (number, treated.get(kind, 0)) for kind, number in recorded.items() if treated.get(kind, 0) < number}
trapped = {kind: number for kind, number in stats["sites_trapped"].items() if number > started * without_stack.get(kind, 0)}
calls = sum(stats["site_calls"].values())
print(f"stats: {sum(treated.values())} of {sum(recorded.values())} sites treated, called {calls} times")
print(f"stats: trapped {trapped}, stores to page tables without annotation {stats['unannotated_table_writes']}")
if "--system-calls" in sys.argv and stats["system_calls_rewritten"] == 0:
    print("stats: FAILED: no system call of a program was rewritten")
    sys.exit(1)
if missing or trapped or calls == 0:
    print(f"stats: FAILED: kinds with fewer sites than records: {missing}; trapped: {trapped}; calls: {calls}")
    sys.exit(1)
