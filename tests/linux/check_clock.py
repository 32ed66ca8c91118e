#!/usr/bin/env python3
"""Hold the clocks that a guest says on its console against this machine's.

usage: check_clock.py [--no-date] <CONSOLE
Lines of the guest: "clock SECONDS-SINCE-1970 SECONDS-SINCE-ITS-START". The same lines, stamped, are shown.
"""

import sys
import time

LEAST_RATE, MOST_RATE = 0.5, 2.0
MOST_LATE, MOST_EARLY = 3.0, 2.0  # of the date, which is in whole seconds


def main():
    marks = []
    failed = False
    for line in sys.stdin:
        line = line.rstrip("\r\n")
        print(line)
        word, *numbers = line.split(" ")
        if word == "clock":
            date, uptime = map(float, numbers)
            marks.append((time.time(), time.monotonic(), date, uptime))
        failed = failed or line.startswith("clock: FAILED")
    if len(marks) < 2:
        sys.exit("clock: FAILED: the guest said nothing")
    host = marks[-1][1] - marks[0][1]
    guest = marks[-1][3] - marks[0][3]
    late = min(now - date for now, _, date, _ in marks)
    print(f"clock: {guest:.2f} s in the guest, {host:.2f} s here; its date is {late:.2f} s late at most")
    if not LEAST_RATE * host < guest < MOST_RATE * host:
        sys.exit("clock: FAILED: the guest's clock does not keep pace")
    if "--no-date" not in sys.argv and not -MOST_EARLY < late < MOST_LATE:
        sys.exit("clock: FAILED: the guest's date is wrong")
    sys.exit(1 if failed else 0)


main()
