#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""statics.py ROOT ARCHIVE ...
Whatever makes up a guest is in two roots. Of these archives no other static may lie in .bss or .data: caches and counters have
sections of their own, .bss.cache and .data.cache, since they are no part of a copy of the guest."""
import re
import subprocess
import sys

root, *archives = sys.argv[1:]
found = wrong = 0
for archive in archives:
    listed = subprocess.run(["objdump", "-tC", archive], stdout=subprocess.PIPE, check=True, text=True).stdout
    for line in listed.splitlines():
        symbol = re.match(r"[0-9a-f]+ .{7} (\.bss|\.data)\t([0-9a-f]+)\s+(?:\.hidden )?(.+)", line)
        if not symbol or int(symbol[2], 16) == 0:
            continue
        if symbol[3] == root:
            found += 1
        else:
            wrong += 1
            print(f"{archive}: {symbol[3]} is in {symbol[1]}: neither in a root nor marked as a cache")
if found != 1:
    print(f"{root} was found {found} times")
sys.exit(0 if found == 1 and not wrong else 1)
