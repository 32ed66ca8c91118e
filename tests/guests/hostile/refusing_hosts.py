#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""refusing_hosts.py PREVIRT GUESTS
refusing_hosts.py --with-listener COMMAND...
Hostile guests in processes of machines that refuse namespaces or privileges, as containers do: there are as many
processes as a VMM makes and no more, and none is left, however guest or monitor end."""
import ctypes
import os
import pathlib
import re
import signal
import subprocess
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parents[2]))
from host_processes import processes_of


def install_listener():
    """A seccomp filter that allows everything, and keeps others from having a listener of theirs."""
    class Filter(ctypes.Structure):
        _fields_ = [("code", ctypes.c_uint16), ("jt", ctypes.c_uint8), ("jf", ctypes.c_uint8), ("k", ctypes.c_uint32)]

    class Program(ctypes.Structure):
        _fields_ = [("length", ctypes.c_uint16), ("filter", ctypes.POINTER(Filter))]

    allow = Filter(0x06, 0, 0, 0x7FFF0000)  # BPF_RET
    libc = ctypes.CDLL(None, use_errno=True)
    libc.prctl(38, 1, 0, 0, 0)  # PR_SET_NO_NEW_PRIVS
    listener = libc.syscall(317, 1, 8, ctypes.byref(Program(1, ctypes.pointer(allow))))  # NEW_LISTENER
    if listener < 0:
        raise OSError(ctypes.get_errno(), "seccomp")
    os.set_inheritable(listener, True)


if sys.argv[1] == "--with-listener":
    install_listener()
    os.execvp(sys.argv[2], sys.argv[2:])
previrt, guests = sys.argv[1:]
MOST = 128 + 1  # and the one that waits for them

NO_USER_NAMESPACES = ["unshare", "--user", "--map-root-user", "sh", "-c",
                      'echo 0 >/proc/sys/user/max_user_namespaces; exec "$@"', "sh"]
NO_PRIVILEGES = ["setpriv", "--bounding-set=-all", "--inh-caps=-all"]
WITH_LISTENER = [sys.executable, os.path.abspath(__file__), "--with-listener"]
# Of whom Linux counts the processes, other than root's.
AS_SOMEBODY = ["setpriv", "--reuid=65533", "--regid=65533", "--clear-groups"]
BY_USER = "128 processes at most, with all others of the same user's that there are"
MISSING = "^previrt: warning: layers between the guest and this machine are missing: "
# What it says when it is verbose, and the warning.
HOSTS = [
    ("as it is", [], "", None),
    ("without user namespaces", NO_USER_NAMESPACES, "namespaces of its own, but for users (clone: ",
     MISSING + "a user namespace of its own"),
    ("without any namespaces", NO_USER_NAMESPACES + NO_PRIVILEGES, "no namespaces of its own (clone: ",
     MISSING + "namespaces of its own, an empty root"),
    ("with a listener", WITH_LISTENER, "", None),
    ("without any namespaces, with a listener, as somebody",
     WITH_LISTENER + AS_SOMEBODY + NO_USER_NAMESPACES + NO_PRIVILEGES, BY_USER,
     MISSING + "namespaces of its own, an empty root"),
]
# Where nothing would bound its processes.
UNBOUNDED = WITH_LISTENER + NO_USER_NAMESPACES + NO_PRIVILEGES
failed = False


def count_processes_of(session):
    return sum(fields[0] not in "ZX" for _, _, fields in processes_of(session))


def keeper_of(session):
    """The first of the guest's processes."""
    return min(process for process, name, _ in processes_of(session) if name == "previrt-process")


def run(host, prefix, guest, seconds, kill_after=None, victim="monitor", options=()):
    """Status, what was said, the most processes there were at a time, and how many are left."""
    command = prefix + [previrt, "run", "--on", "process", "--verbose", "--memory", "512M", "--timeout", str(seconds),
                        *options, f"{guests}/process_{guest}.elf"]
    monitor = subprocess.Popen(command, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, stderr=subprocess.STDOUT,
                               start_new_session=True)
    begin = time.monotonic()
    most = 0
    while monitor.poll() is None:
        most = max(most, count_processes_of(monitor.pid) - 3)  # its monitor, who waits for that, and who watches
        if kill_after and most > kill_after:
            os.kill(monitor.pid if victim == "monitor" else keeper_of(monitor.pid), signal.SIGKILL)
            monitor.wait()
        time.sleep(0.02)
    said = monitor.stdout.read().decode(errors="replace")
    end = time.monotonic() + 10
    while count_processes_of(monitor.pid) and kill_after and time.monotonic() < end:
        time.sleep(0.05)
    left = count_processes_of(monitor.pid)
    print(f"{host}, {guest}: status {monitor.returncode} after {time.monotonic() - begin:.1f} s, at most {most} processes, "
          f"{left} left")
    return monitor.returncode, said, most, left


def check(good, what, said):
    global failed
    if not good:
        print(f"FAILED: {what}\n{said[-2000:]}")
        failed = True


for host, prefix, told, warned in HOSTS:
    if subprocess.run(prefix + ["test", "-x", previrt]).returncode != 0:
        print(f"{host}: not tried, as this machine starts nothing that way")
        continue
    status, said, most, left = run(host, prefix, "forks_without_end", 5)
    # The user's other processes, threads of the monitor's among them, take from what Linux leaves the guest.
    least = MOST - 16 if told == BY_USER else MOST
    check(status == 124 and least <= most <= MOST and left == 0, "processes without end", said)
    check(told in said, f"it does not say '{told}'", said)
    warnings = re.findall("^previrt: warning: (?!the guest's programs can reach|more of the guest's processes).*", said, re.MULTILINE)
    check(len(warnings) == bool(warned) and (not warned or re.match(warned, warnings[0])), "the warning", said)
    status, said, most, _ = run(host, prefix, "exits_with_status", 60, options=["--require-isolation"])
    check(status == (2 if warned else 1) and ("previrt: --require-isolation: layers" in said) == bool(warned),
          "--require-isolation", said)
    status, said, _, left = run(host, prefix, "call_fork", 60)
    check(status == 1 and "signal Bad system call" in said and left == 0, "a call that is refused", said)
    status, said, _, left = run(host, prefix, "forks_without_end", 60, kill_after=100)
    check(status == -signal.SIGKILL and left == 0, "the monitor was killed", said)
    status, said, _, left = run(host, prefix, "forks_without_end", 60, kill_after=100, victim="keeper")
    check(status == 1 and "signal Killed" in said and left == 0, "the keeper was killed", said)
host = "without any namespaces, with a listener, as root"
status, said, most, left = run(host, UNBOUNDED, "forks_without_end", 5)
check(status == 2 and most == 0 and left == 0 and "a bound on its processes: " in said, "no bound on processes", said)
sys.exit(failed)
