#!/usr/bin/env python3
"""console.py PREVIRT run KERNEL OPTION...: clients at the console of a guest that has a shell there."""
import contextlib, json, os, pty, select, signal, subprocess, sys, time

previrt, run = sys.argv[1], sys.argv[1:]
name = f"console{os.getpid()}"
seconds = 120
failures = 0


def report(what, good, text=""):
    global failures
    failures += not good
    print(f"{'passed' if good else 'FAILED'}: {what}" + (f": {text}" if text and not good else ""), flush=True)


class Client:
    """previrt console, with pipes or a terminal."""

    def __init__(self, terminal=False):
        self.text = b""
        if terminal:
            self.output, theirs = pty.openpty()
            self.input = self.output
            self.process = subprocess.Popen([previrt, "console", name], stdin=theirs, stdout=theirs, stderr=theirs)
            os.close(theirs)
        else:
            self.process = subprocess.Popen([previrt, "console", name], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
            self.input, self.output = self.process.stdin.fileno(), self.process.stdout.fileno()

    def type(self, text):
        os.write(self.input, text)

    def shows(self, wanted):
        deadline = time.monotonic() + seconds
        while wanted not in self.text and time.monotonic() < deadline:
            if select.select([self.output], [], [], 1)[0]:
                try:
                    more = os.read(self.output, 65536)
                except OSError:  # a terminal's way of telling its end
                    more = b""
                if not more:
                    break
                self.text += more
        return wanted in self.text

    def status(self):
        return self.process.wait(seconds)


def listed():
    return any(guest["name"] == name for guest in
               json.loads(subprocess.run([previrt, "list", "--json"], capture_output=True, check=True).stdout))


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
    first = Client()
    report("the prompt", first.shows(b"previrt# "), f"{first.text}")
    first.type(b"echo $((6 * 7)) is\n")
    report("keys and output", first.shows(b"42 is"), f"{first.text}")

    second = Client(terminal=True)
    report("earlier output for a later client", second.shows(b"42 is"), f"{second.text}")
    second.type(b"echo $((7 * 9)) is\r")
    report("a terminal", second.shows(b"63 is"), f"{second.text}")
    report("output for each client", first.shows(b"63 is"), f"{first.text}")

    # The guest waits for no client: this one stops to read.
    slow = Client()
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
    third = Client()
    third.type(b"echo $((5 * 11)) is\n")
    report("a client without input", first.shows(b"55 is"), f"{first.text[-200:]}")
    killed = Client()
    killed.shows(b"55 is")
    killed.process.terminate()
    report("a signal ends a client", killed.status() == 1 and listed())

    third.type(b"exit\n")
    report("the guest's end", first.status() == 0 and third.status() == 0 and process.wait(seconds) == 0)

report("the guest's entry has gone", not listed())

if failures:
    sys.exit(1)
