#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""bounds.py PREVIRT CASE GUEST
A guest that takes of its host what is not its memory, with the host's eyes: how much page tables all of its processes
have, and how many processors they use."""
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from host_processes import processes_of, text_of

previrt, case, guest = sys.argv[1:]
MIB = 1 << 20
MEMORY = 64 * MIB
BOUND = MEMORY // 2 + 128 * MIB # docs/process.md
FREE = 3072 * MIB # with which a guest without bounds is ended here
failed = False


def check(good, what):
    global failed
    print(f"{'ok' if good else 'FAILED'}: {what}")
    failed = failed or not good


def guest_processes_of(session):
    """Each with the fields of its `stat`."""
    return ((process, fields) for process, name, fields in processes_of(session) if name == "previrt-process")


def statuses_of(session):
    return [text_of(f"/proc/{process}/status") for process, _ in guest_processes_of(session)]


def page_tables_of(session):
    return sum(int(size) << 10 for status in statuses_of(session) for size in re.findall(r"VmPTE:\s*(\d+)", status))


def processor_time_of(session):
    ticks = sum(int(fields[11]) + int(fields[12]) for _, fields in guest_processes_of(session))
    return ticks / os.sysconf("SC_CLK_TCK")


def go_before_others():
    """On a busy machine several processes of ours would not be seen to run at once."""
    if case == "runs_many_processes":
        try:
            os.setpriority(os.PRIO_PROCESS, 0, -20)
            with open("/proc/self/autogroup", "w") as file: # of its session, where Linux makes such groups
                file.write("-20")
        except OSError:
            pass


run = subprocess.Popen([previrt, "run", "--on", "process", "--memory", f"{MEMORY // MIB}M", "--timeout", "20", guest],
                       stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.PIPE, start_new_session=True,
                       preexec_fn=go_before_others)
if not run.stdout.readline():
    said = run.communicate()[1].decode(errors="replace")
    raise SystemExit(f"FAILED: the guest says nothing: {said}")
most = 0
seen = time.monotonic()
if case == "runs_many_processes":
    places, end = [], time.monotonic() + 12
    while max(map(places.count, places), default=0) < 15 and time.monotonic() < end:
        time.sleep(0.5)
        places = [re.findall(r"Cpus_allowed_list:\s*(\d+)\n", status) for status in statuses_of(run.pid)]
        places = [place[0] for place in places if place] # one alone
    before, begin = processor_time_of(run.pid), time.monotonic()
    time.sleep(2)
    used = (processor_time_of(run.pid) - before) / (time.monotonic() - begin)
    run.send_signal(signal.SIGTERM)
    said = run.communicate()[1].decode(errors="replace")
    print(said)
    check(used < 1.2, f"its processes use {used:.2f} processors")
    check(len(places) >= 15 and len(set(places)) == 1, f"each may use one processor alone: {places}")
    check(said.count("previrt: warning: more of the guest's processes ran at once") == 1, "it is told once")
    sys.exit(failed)
while run.poll() is None:
    most = max(most, page_tables_of(run.pid))
    if most > FREE:
        os.kill(run.pid, signal.SIGKILL)
    time.sleep(0.002)
said = run.communicate()[1].decode(errors="replace")
print(said)
# Between two looks a process makes more, on each of the processors. More slowly, a 20th as much.
slack = 512 * MIB if case == "maps_in_many_processes" else 64 * MIB
check(most < BOUND + slack, f"at most {most / MIB:.0f} MiB of page tables, of {BOUND / MIB:.0f}, after {time.monotonic() - seen:.1f} s")
check(run.returncode == 1 and "previrt: the host ended the guest: the page tables of its processes take " in said,
      f"it is ended aloud: {run.returncode}")
sys.exit(failed)
