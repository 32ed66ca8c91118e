#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""page_tables_of.py END
How many MiB of page tables the processes of a guest have at most, until there is the file END: those beneath the same
shell as this one."""
import os
import pathlib
import re
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from host_processes import descendants_of, text_of

most = 0
while not os.path.exists(sys.argv[1]):
    status = [text_of(f"/proc/{child}/status") for child in descendants_of(os.getppid())]
    tables = [int(size) for text in status if text.startswith("Name:\tprevirt-process")
              for size in re.findall(r"VmPTE:\s*(\d+)", text)]
    most = max(most, sum(tables))
    time.sleep(0.05)
print(f"most: {most >> 10} MiB of page tables of this machine's")
