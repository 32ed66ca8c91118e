#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""page_tables_of.py END
How many MiB of page tables the processes of a guest have at most, until there is the file END: those beneath the same
shell as this one."""
import os
import re
import sys
import time


def text_of(path):
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""


def children_of(process):
    for child in text_of(f"/proc/{process}/task/{process}/children").split():
        yield child
        yield from children_of(child)


most = 0
while not os.path.exists(sys.argv[1]):
    status = [text_of(f"/proc/{child}/status") for child in children_of(os.getppid())]
    tables = [int(size) for text in status if text.startswith("Name:\tprevirt-process")
              for size in re.findall(r"VmPTE:\s*(\d+)", text)]
    most = max(most, sum(tables))
    time.sleep(0.05)
print(f"most: {most >> 10} MiB of page tables of this machine's")
