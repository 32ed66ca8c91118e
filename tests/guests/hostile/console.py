#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""console.py PREVIRT PLACE GUESTS CHECK ...
Whatever is at the other end of a guest's console, and whatever the guest does: its time, signals and Ctrl-] end it,
what it printed is not lost and does not fill the monitor's memory, and no answer of a terminal is left behind."""
import fcntl
import os
import pty
import select
import signal
import struct
import subprocess
import sys
import tempfile
import termios
import threading
import time
import tty

previrt, place, guests, *chosen = sys.argv[1:]
ENDS_WITHIN = 15  # a busy machine's; the monitor gives a reader some seconds
BEGINS_WITHIN = 120 if place in ("kvm-nested", "xen-domu") else 40
failed = False


def check(name, good, what):
    global failed
    print(f"{'passed' if good else 'FAILED'}: {place}: {name}: {what}", flush=True)
    failed = failed or not good


def start(guest, options=(), **streams):
    streams.setdefault("stdin", subprocess.DEVNULL)
    streams.setdefault("stderr", open(f"{work}/errors", "wb"))
    command = [previrt, "run", "--on", place, "--memory", "64M", *options, f"{guests}/{guest}.elf"]
    return subprocess.Popen(command, start_new_session=True, **streams)


def errors():
    with open(f"{work}/errors", errors="replace") as file:
        return file.read()


def await_status(run, within=ENDS_WITHIN):
    """None: it had to be killed."""
    begin = time.monotonic()
    try:
        run.wait(within)
    except subprocess.TimeoutExpired:
        run.kill()
        run.wait()
        return None, within
    return run.returncode, time.monotonic() - begin


def waiting_in(descriptor):
    return struct.unpack("i", fcntl.ioctl(descriptor, termios.FIONREAD, b"\0\0\0\0"))[0]


def await_full(run, pipe):
    """Until nothing more goes into the pipe."""
    before, since = -1, time.monotonic()
    while run.poll() is None and time.monotonic() - since < BEGINS_WITHIN:
        now = waiting_in(pipe)
        if now == before and now >= 32768:
            return
        before = now
        time.sleep(0.5)


def memory_of(process):
    with open(f"/proc/{process}/status") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmRSS"))


def stalled_pipe(name, guest, wanted, options=(), number=None, with_errors=False):
    reader, writer = os.pipe()
    streams = {"stdout": writer} | ({"stderr": writer} if with_errors else {})
    run = start(guest, options, **streams)
    os.close(writer)
    grown = 0
    if number is None:
        status, seconds = await_status(run, BEGINS_WITHIN + ENDS_WITHIN)
    else:
        await_full(run, reader)
        before = memory_of(run.pid) if run.poll() is None else 0
        time.sleep(1)
        grown = memory_of(run.pid) - before if run.poll() is None else 0
        run.send_signal(number)
        status, seconds = await_status(run)
    check(name, status == wanted, f"status {status} after {seconds:.1f} s")
    if not with_errors:
        told = "did not end within" if number is None else "ended by a signal"
        check(name, told in errors(), f"it says '{told}'")
    if number is not None:
        check(name, grown < 4096, f"the monitor grew by {grown} KiB meanwhile")
    os.close(reader)


def timeout():
    seconds = "20" if BEGINS_WITHIN > 100 else "4"
    stalled_pipe("timeout, nobody reads", "prints_without_end", 124, ["--timeout", seconds])


def timeout_with_errors():
    stalled_pipe("timeout, nobody reads what we say either", "prints_without_end", 124, ["--timeout", "4", "--verbose"],
                 with_errors=True)


def sigterm():
    stalled_pipe("SIGTERM, nobody reads", "prints_without_end", 1, number=signal.SIGTERM)


def sigint():
    stalled_pipe("SIGINT, nobody reads", "prints_without_end", 1, number=signal.SIGINT)


class Terminal:
    """`show`: what is done with what is printed; None: nobody reads it."""

    def __init__(self, guest, show):
        self.keys, self.terminal = pty.openpty()
        self.before = termios.tcgetattr(self.terminal)
        self.shown = b""
        self.run = start(guest, stdin=self.terminal, stdout=self.terminal)
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.read, args=(show,)) if show else None
        if self.thread:
            self.thread.start()

    def read(self, show):
        while not self.over.is_set():
            if select.select([self.keys], [], [], 0.1)[0]:
                self.shown += os.read(self.keys, 65536)
                show(self)

    def await_raw(self):
        end = time.monotonic() + BEGINS_WITHIN
        while termios.tcgetattr(self.terminal)[3] & termios.ICANON and time.monotonic() < end:
            time.sleep(0.1)

    def close(self):
        self.over.set()
        if self.thread:
            self.thread.join()
        os.close(self.keys)
        os.close(self.terminal)


def key_that_ends():
    terminal = Terminal("prints_without_end", None)
    terminal.await_raw()
    time.sleep(5 if place in ("process", "kvm", "bare") else 15)
    os.write(terminal.keys, b"\x1d")
    status, seconds = await_status(terminal.run)
    check("Ctrl-], nobody reads", status == 1 and "ended by Ctrl-]" in errors(), f"status {status} after {seconds:.1f} s")
    check("Ctrl-], nobody reads", termios.tcgetattr(terminal.terminal) == terminal.before, "the terminal is as before")
    terminal.close()


def key_behind_many():
    terminal = Terminal("never_reads", lambda terminal: None)
    terminal.await_raw()
    time.sleep(2)
    os.set_blocking(terminal.keys, False)
    left, end = b"x" * 200000 + b"\x1d", time.monotonic() + 20
    while left and terminal.run.poll() is None and time.monotonic() < end:
        try:
            left = left[os.write(terminal.keys, left[:4096]):]
        except BlockingIOError:
            time.sleep(0.02)
    status, seconds = await_status(terminal.run)
    check("Ctrl-], the guest never reads", status == 1, f"status {status} after {seconds:.1f} s; {len(left)} keys not taken")
    check("Ctrl-], the guest never reads", "did not read" in errors(), "the keys that are lost are told")
    terminal.close()


def slow_reader():
    reader, writer = os.pipe()
    run = start("prints_much", ["--timeout", "300"], stdout=writer)
    os.close(writer)
    await_full(run, reader)
    time.sleep(4)
    got = b""
    while block := os.read(reader, 65536):
        got += block
    status, _ = await_status(run)
    got = got.replace(b"\r", b"")
    wanted = b"hostile: prints_much\n" + b"".join(
        b"line %d: each of them has to arrive, once and in its order; nothing is lost\n" % line for line in range(6000))
    wanted += b"guest: end\n"
    check("a slow reader", status == 0 and got == wanted, f"status {status}, {len(got)} bytes of {len(wanted)}")
    if got != wanted:
        print(got[-300:], errors()[-1000:])
    os.close(reader)


def answer():
    def show(terminal):
        if b"\x1b[6n" in terminal.shown and not hasattr(terminal, "answered"):
            terminal.answered = True
            time.sleep(0.03)
            os.write(terminal.keys, b"\x1b[1;1R")

    terminal = Terminal("asks_terminal", show)
    status, _ = await_status(terminal.run, BEGINS_WITHIN + ENDS_WITHIN)
    time.sleep(0.3)
    tty.setraw(terminal.terminal, termios.TCSANOW)
    left = waiting_in(terminal.terminal)
    check("an answer that comes too late", status == 0 and hasattr(terminal, "answered") and left == 0,
          f"status {status}, {left} bytes of it are left")
    terminal.close()


CHECKS = {check.__name__: check for check in (timeout, timeout_with_errors, sigterm, sigint, key_that_ends,
                                              key_behind_many, slow_reader, answer)}
with tempfile.TemporaryDirectory() as work:
    for name in chosen:
        CHECKS[name]()
sys.exit(failed)
