#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""nothing_left.py PLACE PREVIRT GUEST
A signal ends `previrt run` at any time of a guest's start. When the run has ended, no process of the guest exists any more. A
process that the run's program had before is none of the guest's, and the run does not wait for it."""
import os
import pathlib
import random
import signal
import subprocess
import sys
import time

LONGEST = 0.15  # the guest executes long before


def left_in(session, other):
    left = []
    for entry in pathlib.Path("/proc").iterdir():
        if not entry.name.isdigit() or int(entry.name) == other:
            continue
        try:
            name, fields = (entry / "stat").read_text().rsplit(")", 1)
        except OSError:
            continue
        state, _, _, its_session = fields.split()[:4]
        if int(its_session) == session and state not in "ZX":
            left.append(f"{name}) {state}")
    return left


def main():
    place, previrt, guest = sys.argv[1:]
    isolate = ["--isolate", "--cpus", "2"] if place.endswith("-isolate") else []
    command = [previrt, "run", "--on", place.removesuffix("-isolate"), *isolate, "--memory", "64M", "--quiet", guest]
    runs = 30 if isolate else 60
    chance = random.Random(1)
    failures = []
    for number in range(runs):
        # Of a shell that becomes the run.
        run = subprocess.Popen(["sh", "-c", 'sleep 60 </dev/null >/dev/null 2>&1 & echo $!; exec "$@"', "sh", *command],
                               stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               start_new_session=True)
        other = int(run.stdout.readline())
        delay = LONGEST * (number + chance.random()) / runs
        time.sleep(delay)
        number_sent = (signal.SIGTERM, signal.SIGHUP)[number % 2]
        run.send_signal(number_sent)
        status = run.wait(timeout=30)
        left = left_in(run.pid, other)
        os.kill(other, signal.SIGKILL)
        if left or status not in (1, -number_sent):
            failures.append(f"after {delay * 1000:.0f} ms: status {status}, left: {left}\n{run.stdout.read().decode()}")
        run.stdout.close()
    print("\n".join(failures) if failures else f"nothing was left after {runs} runs")
    sys.exit(1 if failures else 0)


main()
