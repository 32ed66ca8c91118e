#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""bounds.py PREVIRT CASE GUEST
A guest that takes of its host what is not its memory, with the host's eyes: how much page tables all of its processes
have, and how many processors they use."""
import os
import re
import signal
import subprocess
import sys
import time

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


def text_of(path):
    try:
        with open(path) as file:
            return file.read()
    except OSError:
        return ""


def processes_of(session):
    """The guest's, each with the text of its status."""
    for name in filter(str.isdigit, os.listdir("/proc")):
        stat = text_of(f"/proc/{name}/stat")
        if "(previrt-process)" in stat and int(stat.rpartition(")")[2].split()[3]) == session:
            yield int(name), text_of(f"/proc/{name}/status")


def page_tables_of(session):
    return sum(int(size) << 10 for _, status in processes_of(session) for size in re.findall(r"VmPTE:\s*(\d+)", status))


def processor_time_of(session):
    ticks = 0
    for process, _ in processes_of(session):
        fields = text_of(f"/proc/{process}/stat").rpartition(")")[2].split()
        ticks += int(fields[11]) + int(fields[12]) if fields else 0
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
        places = [re.findall(r"Cpus_allowed_list:\s*(\d+)\n", status) for _, status in processes_of(run.pid)]
        places = [place[0] for place in places if place] # one alone
    before, begin = processor_time_of(run.pid), time.monotonic()
    time.sleep(2)
    used = (processor_time_of(run.pid) - before) / (time.monotonic() - begin)
    run.send_signal(signal.SIGTERM)
    said = run.communicate()[1].decode(errors="replace")
    print(said)
    check(used < 1.2, f"its processes use {used:.2f} processors")
    check(len(places) >= 15 and len(set(places)) == 1, f"each may use one processor alone: {places}")
    check(said.count("previrt: warning: several of the guest's processes ran at once") == 1, "it is told once")
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
