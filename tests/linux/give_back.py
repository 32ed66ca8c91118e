#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""give_back.py MIB PREVIRT-COMMAND ...
Runs a guest whose program is guest/give_back. Memory that the guest frees has to return to this machine in some seconds: what its
memory takes here falls again after each time that the program held MIB MiB."""
import os
import pathlib
import re
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[1]))
from host_processes import descendants_of, text_of

PATIENCE = 60  # seconds; Linux takes some 30 to report all of its free memory
SLACK = 24  # MiB that the kernel may keep: blocks of 4 MiB that are used in part

held = int(sys.argv[1])
guest = subprocess.Popen(sys.argv[2:], stdin=subprocess.PIPE, stdout=subprocess.PIPE)


def files_of(process):
    try:
        for descriptor in os.listdir(f"/proc/{process}/fd"):
            path = f"/proc/{process}/fd/{descriptor}"
            if os.readlink(path).startswith("/memfd:previrt-guest"):
                yield os.stat(path)
    except OSError:
        pass


def used_mib():
    """Of this machine's memory, by the guest's: a file's, or else what the monitor's processes have of their own."""
    tree = [guest.pid, *descendants_of(guest.pid)]
    file = next((file for process in tree for file in files_of(process)), None)
    if file:
        return file.st_blocks * 512 >> 20
    own = [re.search(r"RssAnon:\s*(\d+)", text_of(f"/proc/{process}/status")) for process in tree]
    return sum(int(size[1]) for size in own if size) >> 10


def until_below(bound):
    start = time.monotonic()
    while used_mib() > bound and time.monotonic() - start < PATIENCE and guest.poll() is None:
        time.sleep(0.1)
    return time.monotonic() - start


failures = []
before = 0
for line in guest.stdout:
    line = line.decode(errors="replace").replace("\r", "")
    print(line, end="", flush=True)
    step = re.match(r"give_back: (begins|holds|freed)", line)
    if not step:
        continue
    if step[1] == "begins":
        time.sleep(3)  # what the kernel's start has freed returns too
        before = used_mib()
        print(f"this machine: {before} MiB before")
    elif step[1] == "holds":
        print(f"this machine: {used_mib()} MiB while the program holds {held}")
        if used_mib() < before + held:
            failures.append(f"the guest's {held} MiB were not seen here")
    else:
        took = until_below(before + SLACK)
        print(f"this machine: {used_mib()} MiB {took:.1f} s after the program has freed it")
        if used_mib() > before + SLACK:
            failures.append(f"after {took:.0f} s more than {before + SLACK} MiB were still used")
    sys.stdout.flush()
    guest.stdin.write(b"\n")
    guest.stdin.flush()
status = guest.wait()
if status != 0:
    failures.append(f"status {status}")
for failure in failures:
    print(f"give-back: FAILED: {failure}")
sys.exit(1 if failures else 0)
