#!/usr/bin/env python3
"""console.py PREVIRT run KERNEL OPTION...: clients at the console of a guest that has a shell there."""
import contextlib, os, pathlib, signal, subprocess, sys, time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2]))
from guest_console import ConsoleClient, entry_of
from verdicts import end_test, report

previrt, run = sys.argv[1], sys.argv[1:]
name = f"console{os.getpid()}"
seconds = 120


def client(terminal=False):
    return ConsoleClient(previrt, name, seconds, terminal)


def listed():
    return entry_of(previrt, name) is not None


@contextlib.contextmanager
def guest(*options):
    with subprocess.Popen([*run, "--name", name, *options], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                          stderr=subprocess.DEVNULL) as process:
        try:
            while not listed() and process.poll() is None:
                time.sleep(0.05)
            yield process
        finally:
            process.kill()


nobody = subprocess.run([previrt, "console", name], capture_output=True)
report("no such guest", nobody.returncode == 2 and b"no guest of this name runs" in nobody.stderr, f"{nobody}")

with guest() as process:
    first = client()
    report("the prompt", first.shows(b"previrt# "), f"{first.text}")
    first.type(b"echo $((6 * 7)) is\n")
    report("keys and output", first.shows(b"42 is"), f"{first.text}")

    second = client(terminal=True)
    report("earlier output for a later client", second.shows(b"42 is"), f"{second.text}")
    second.type(b"echo $((7 * 9)) is\r")
    report("a terminal", second.shows(b"63 is"), f"{second.text}")
    report("output for each client", first.shows(b"63 is"), f"{first.text}")

    # The guest waits for no client: this one stops to read.
    slow = client()
    report("a further client", slow.shows(b"63 is"), f"{slow.text}")
    slow.process.send_signal(signal.SIGSTOP)
    first.type(b"i=0; while [ $i -lt 20000 ]; do echo line-$i-of-many-lines; i=$((i + 1)); done; echo $((9 * 9)) is\n")
    report("output past a client that stopped", first.shows(b"81 is"), f"{first.text[-200:]}")
    slow.process.send_signal(signal.SIGCONT)
    report("which learns of what it lost", slow.shows(b"bytes are left out here]"), f"{slow.text[-200:]}")
    slow.process.kill()
    slow.process.wait()

    second.type(b"\x1d")
    report("Ctrl-] leaves the guest", second.shows(b"left " + name.encode()) and second.status() == 0 and listed(),
           f"{second.text[-200:]}")
    first.process.stdin.close()  # output goes on
    third = client()
    third.type(b"echo $((5 * 11)) is\n")
    report("a client without input", first.shows(b"55 is"), f"{first.text[-200:]}")
    killed = client()
    killed.shows(b"55 is")
    killed.process.terminate()
    report("a signal ends a client", killed.status() == 1 and listed())

    third.type(b"exit\n")
    report("the guest's end", first.status() == 0 and third.status() == 0 and process.wait(seconds) == 0)

report("the guest's entry has gone", not listed())

end_test()
