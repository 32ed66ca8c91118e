#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""sandboxed_qemu.py PREVIRT PLACE GUEST
While a guest runs under QEMU, each thread of QEMU has a seccomp filter."""
import os
import subprocess
import sys
import time

previrt, place, guest = sys.argv[1:]


def text_of(path):
    with open(path) as file:
        return file.read()


def descendants(parent):
    for task in os.listdir(f"/proc/{parent}/task"):
        for child in text_of(f"/proc/{parent}/task/{task}/children").split():
            yield child
            yield from descendants(child)


def find_qemu(run):
    end = time.monotonic() + 60
    while time.monotonic() < end and run.poll() is None:
        for process in descendants(run.pid):
            if text_of(f"/proc/{process}/comm").startswith("qemu-system"):
                return process
        time.sleep(0.05)
    return None


run = subprocess.Popen([previrt, "run", "--on", place, "--memory", "64M", "--timeout", "60", guest],
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
qemu = find_qemu(run)
if qemu is None:
    said = run.communicate()[1].decode().splitlines()[-1:]
    print("skipped:" if run.returncode == 2 else "FAILED:", *said)
    sys.exit(77 if run.returncode == 2 else 1)
os.read(run.stdout.fileno(), 1)  # the guest runs
filters = {task: next(line.split()[1] for line in text_of(f"/proc/{qemu}/task/{task}/status").splitlines()
                      if line.startswith("Seccomp:")) for task in os.listdir(f"/proc/{qemu}/task")}
run.terminate()
run.communicate()
failed = set(filters.values()) != {"2"}
print(f"{'FAILED' if failed else 'passed'}: {place}: filters of QEMU's threads: {filters}")
sys.exit(failed)
