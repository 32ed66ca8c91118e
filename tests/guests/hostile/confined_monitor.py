#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""confined_monitor.py PREVIRT PLACE GUEST
While a guest runs, each thread of its monitor is filtered, has no privileges and is not root; what the monitor does
not need ends it, and that is told."""
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from host_processes import processes_of, text_of

previrt, place, guest = sys.argv[1:]
failed = False


def check(good, what):
    global failed
    print(f"{'ok' if good else 'FAILED'}: {what}")
    failed = failed or not good


def start():
    run = subprocess.Popen([previrt, "run", "--on", place, "--memory", "64M", "--timeout", "60", guest],
                           stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                           start_new_session=True)
    first = run.stdout.readline()
    if not first:
        said = run.communicate()[1].decode(errors="replace")
        raise SystemExit(f"FAILED: the guest says nothing: {said}")
    return run


def monitor_of(run):
    """The child that waits for the guest."""
    for child in text_of(f"/proc/{run.pid}/task/{run.pid}/children").split():
        if text_of(f"/proc/{child}/comm") == "previrt\n":
            return int(child)
    return run.pid


run = start()
monitor = monitor_of(run)
threads = os.listdir(f"/proc/{monitor}/task")
check(len(threads) >= 3, f"the monitor has {len(threads)} threads")
for thread in threads:
    status = dict(re.findall(r"(\w+):\s*(.*)", text_of(f"/proc/{monitor}/task/{thread}/status")))
    held = {name: status[name] for name in ("Seccomp", "NoNewPrivs", "CapPrm", "CapEff", "CapAmb")}
    check(held == {"Seccomp": "2", "NoNewPrivs": "1", "CapPrm": "0" * 16, "CapEff": "0" * 16, "CapAmb": "0" * 16},
          f"thread {thread}: {held}")
    check("0" not in status["Uid"].split(), f"its user: {status['Uid']}")
if os.geteuid() == 0:
    check(os.listdir(f"/proc/{monitor}/root") == [], "its root is empty")
run.send_signal(signal.SIGTERM)
said = run.communicate()[1].decode(errors="replace")
check(run.returncode == 1 and "ended by a signal" in said, f"SIGTERM ends it: {run.returncode}")

# What its filter does to it.
run = start()
monitor = monitor_of(run)
os.kill(monitor, signal.SIGSYS)
said = run.communicate()[1].decode(errors="replace")
check(run.returncode == 1 and "previrt: the host ended the guest's monitor, and the guest with it: signal Bad system "
      "call: it made a system call that its filter refuses" in said, f"it is told: {run.returncode}: {said}")
time.sleep(0.2)
left = [process for process, _, fields in processes_of(run.pid) if fields[0] not in "ZX"]
check(not left, f"nothing is left: {left}")
sys.exit(failed)
