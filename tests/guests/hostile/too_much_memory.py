#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""too_much_memory.py PREVIRT GUEST
A guest with more memory than this machine has RAM gets a warning, one with less gets none."""
import os
import subprocess
import sys

previrt, guest = sys.argv[1:]
ram = os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE") >> 20
failed = False
for memory, warned in ((64, 0), (ram + 1024, 1)):
    run = subprocess.run([previrt, "run", "--on", "process", "--memory", f"{memory}M", "--timeout", "60", guest],
                         stdin=subprocess.DEVNULL, capture_output=True, text=True)
    warnings = run.stderr.count("previrt: warning: --memory: ")
    good = warnings == warned and (run.returncode == 0 or warned)
    print(f"{'ok' if good else 'FAILED'}: --memory {memory}M: {warnings} warnings, status {run.returncode}")
    if not good:
        print(run.stderr)
    failed = failed or not good
sys.exit(failed)
