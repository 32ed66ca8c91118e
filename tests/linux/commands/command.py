#!/usr/bin/env python3
"""command.py RUNS PREVIRT RUN-OPTION...: commands in a guest against the same commands of busybox here."""
import ctypes, fcntl, os, pathlib, pty, random, re, select, signal, struct, subprocess, sys, tempfile, termios, time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2]))
from verdicts import end_test, report

runs = int(sys.argv[1])
run = sys.argv[2:]


def shell_status(code):
    return code if code >= 0 else 128 - code


def guest(command, *options, **how):
    return subprocess.run([*run, *options, "--", *command], capture_output=True, timeout=120, **how)


def same(name, command, data=b"", show=True):
    here = subprocess.run(["busybox", *command], input=data, capture_output=True, timeout=60)
    there = guest(command, input=data)
    good = (here.stdout, here.stderr, shell_status(here.returncode)) == (there.stdout, there.stderr, there.returncode)
    report(name, good, f"here {here}, there {there}" if show else f"status {there.returncode}, {there.stderr}")


def status_is(name, command, status, text, *options):
    got = guest(command, *options, stdin=subprocess.DEVNULL)
    report(name, got.returncode == status and text in got.stderr.decode(), f"{got}")


random.seed(1)
same("streams and status", ["sh", "-c", "cat; echo e >&2; exit 7"], bytes(range(256)) * 400, False)
same("empty input", ["wc", "-c"])
same("arguments", ["sh", "-c", 'printf "<%s>" "$@"', "sh", "", "two words", "\n", "--", "-x"])
same("no output", ["true"])
same("status 255", ["sh", "-c", "exit 255"])
same("output to both, in order of each", ["sh", "-c", "for i in 1 2 3 4 5 6 7 8 9; do echo $i; echo e$i >&2; done"])
same("input that is not read", ["sh", "-c", "exec <&-; exit 3"], bytes(1000000), False)
same("output behind the command's end", ["sh", "-c", "head -c 60000 /dev/zero"], b"", False)
same("killed by a signal", ["sh", "-c", "kill -9 $$"])
same("killed by another", ["sh", "-c", "kill -TERM $$"])

data = random.randbytes(10 << 20)
started = time.monotonic()
got = guest(["cat"], input=data)
print(f"10 MiB through cat took {time.monotonic() - started:.2f} s")
report("10 MiB through cat", got.returncode == 0 and got.stdout == data,
       f"status {got.returncode}, {len(got.stdout)} bytes, {got.stderr}")
started = time.monotonic()
got = guest(["dd", "if=/dev/zero", "bs=64k", "count=160"], stdin=subprocess.DEVNULL)
print(f"10 MiB of output took {time.monotonic() - started:.2f} s")
report("10 MiB of output", got.returncode == 0 and got.stdout == bytes(10 << 20), f"status {got.returncode}, {len(got.stdout)} bytes, {got.stderr}")

status_is("a command that is not there", ["no-such-command"], 127, "no-such-command: No such file or directory")
status_is("a file that is not there", ["/bin/no-such-command"], 127, "No such file or directory")
status_is("a file that is no program", ["/etc/passwd"], 126, "/etc/passwd: Permission denied")
status_is("too long a time", ["sleep", "100"], 124, "did not end within 1 s", "--timeout", "1")
status_is("a guest that ends before its command", ["poweroff", "-f"], 125, "the guest ended before its command")
status_is("a panic", ["sh", "-c", "echo c >/proc/sysrq-trigger; sleep 9"], 125, "Kernel panic - not syncing")
elsewhere = [*run[:3], "bare", *run[4:]]
got = subprocess.run([*elsewhere, "--", "true"], capture_output=True, timeout=60)
report("no place for it", got.returncode == 125 and b"has none so far" in got.stderr, f"{got}")
status_is("variables", ["sh", "-c", "test \"$A$HOME\" = 'b c/root'"], 0, "", "--env", "A=b c")

# The reader of the output goes.
with subprocess.Popen([*run, "--", "yes"], stdout=subprocess.PIPE, stderr=subprocess.PIPE, stdin=subprocess.DEVNULL) as process:
    first = process.stdout.read(100)
    process.stdout.close()
    text = process.stderr.read()
    report("output that nobody reads", process.wait(20) == 141 and first == b"y\n" * 50 and text == b"",
           f"status {process.returncode}, {first}, {text}")

# No more than some of the input is taken from this machine.
with tempfile.TemporaryFile() as file:
    file.write(bytes(4 << 20))
    file.seek(0)
    os.lseek(file.fileno(), 0, os.SEEK_SET)
    got = guest(["true"], stdin=file)
    taken = os.lseek(file.fileno(), 0, os.SEEK_CUR)
    report("input that the command does not take", got.returncode == 0 and taken <= 160 << 10, f"{got}, {taken} bytes are gone")


def until(stream, text):
    got = b""
    while text not in got:
        more = os.read(stream, 65536)
        if not more:
            break
        got += more
    return got


# A shell ignores SIGQUIT until it has become the last command: an untrapped signal goes to a program that a shell does not start.
for name in ("INT", "TERM", "HUP", "QUIT", "USR1", "USR2"):
    number = getattr(signal, "SIG" + name)
    script = f"trap 'echo got; exit 3' {name}; echo ready; while :; do sleep 0.05; done"
    for how, command, wanted in (("trapped", ["sh", "-c", script], (3, b"got\n")),
                                 ("not trapped", ["cat"], (128 + number, b""))):
        with subprocess.Popen([*run, "--", *command], stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
            process.stdin.write(b"ready\n")
            process.stdin.flush()
            until(process.stdout.fileno(), b"ready\n")
            process.send_signal(number)
            rest = process.stdout.read()
            report(f"SIG{name}, {how}", (process.wait(20), rest) == wanted, f"status {process.returncode}, {rest}")


with subprocess.Popen([*run, "--", "sh", "-c", "while :; do echo tick; sleep 0.02; done"], stdout=subprocess.PIPE,
                      stdin=subprocess.DEVNULL) as process:
    until(process.stdout.fileno(), b"tick\n")
    process.send_signal(signal.SIGTSTP)
    os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
    deadline = time.monotonic() + 10
    while not (silent := not select.select([process.stdout], [], [], 0.5)[0]) and time.monotonic() < deadline:
        os.read(process.stdout.fileno(), 65536)
    process.send_signal(signal.SIGCONT)
    again = b"tick" in until(process.stdout.fileno(), b"tick\n")
    process.send_signal(signal.SIGTERM)
    process.stdout.read()
    report("SIGTSTP and SIGCONT", silent and again and process.wait(20) == 143,
           f"silent {silent}, again {again}, status {process.returncode}")


# A terminal.
def on_terminal(whole, steps, stderr=None):
    """Each step waits for a text, and then calls something with the terminal's other end."""
    keys, terminal = pty.openpty()
    fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 77, 0, 0))
    before = termios.tcgetattr(terminal)

    def own():
        os.setsid()
        fcntl.ioctl(0, termios.TIOCSCTTY, 0)

    process = subprocess.Popen(whole, stdin=terminal, stdout=terminal, stderr=stderr or terminal, preexec_fn=own)
    shown = b""
    was_raw = False
    for text, action in steps:
        deadline = time.monotonic() + 60
        while not re.search(text, shown) and time.monotonic() < deadline:
            if select.select([keys], [], [], 1)[0]:
                shown += os.read(keys, 65536)
        was_raw = was_raw or termios.tcgetattr(terminal) != before
        action(keys, process)
    deadline = time.monotonic() + 20
    while process.poll() is None and time.monotonic() < deadline:
        if select.select([keys], [], [], 0.1)[0]:
            shown += os.read(keys, 65536)
    while select.select([keys], [], [], 0)[0]:
        shown += os.read(keys, 65536)
    restored = termios.tcgetattr(terminal) == before
    os.close(keys)
    os.close(terminal)
    if process.poll() is None:
        process.kill()
    return process.wait(), shown, was_raw and restored


def typed(text):
    return lambda keys, process: os.write(keys, text)


def resize(keys, process):
    fcntl.ioctl(keys, termios.TIOCSWINSZ, struct.pack("HHHH", 44, 99, 0, 0))


status, shown, right = on_terminal(
    [*run, "--", "sh", "-c", "test -t 0 && test -t 1 && test -t 2 && stty size; read line; echo \"<$line>\"; exit 5"],
    [(b"33 77\r\n", typed(b"hello\r"))])
report("a terminal", (status, shown, right) == (5, b"33 77\r\nhello\r\n<hello>\r\n", True), f"{status}, {shown}, {right}")
status, shown, right = on_terminal([*run, "--", "sh", "-c", "echo ready; sleep 100"], [(b"ready", typed(b"\x03"))])
report("Ctrl-C on a terminal", (status, shown, right) == (130, b"ready\r\n^C", True), f"{status}, {shown}, {right}")
status, shown, right = on_terminal(
    [*run, "--", "sh", "-c", "trap 'stty size; exit 6' WINCH; echo ready; while :; do sleep 0.05; done"], [(b"ready", resize)])
report("a terminal's new size", (status, shown, right) == (6, b"ready\r\n44 99\r\n", True), f"{status}, {shown}, {right}")
status, shown, right = on_terminal([*run, "--", "sh", "-c", "echo ready; cat; echo over"], [(b"ready", typed(b"line\r\x04"))])
report("Ctrl-D on a terminal", status == 0 and b"over" in shown and right, f"{status}, {shown}, {right}")
status, shown, right = on_terminal([*run, "--", "sh", "-c", "echo ready; sleep 100"],
                                   [(b"ready", lambda keys, process: process.send_signal(signal.SIGTERM))])
report("SIGTERM with a terminal", status == 143 and right, f"{status}, {shown}, {right}")
with tempfile.TemporaryFile() as errors:
    status, shown, right = on_terminal([*run, "--", "sh", "-c", "echo out; read line; test -t 2 || echo err >&2"],
                                       [(b"out", typed(b"\r"))], errors)
    errors.seek(0)
    text = errors.read()
    report("standard error beside a terminal", (status, shown, right, text) == (0, b"out\r\n\r\n", True, b"err\n"),
           f"{status}, {shown}, {right}, {text}")

# The same command many times: without a terminal, on one, and under signals in turn. After each run nothing is left: what outlives
# its parent becomes a child of this process.
set_child_subreaper = 36
ctypes.CDLL(None).prctl(set_child_subreaper, 1, 0, 0, 0)
exact = ["sh", "-c", "cat; echo e >&2; exit 7"]
here, there = ["busybox", *exact], [*run, "--", *exact]


def without_terminal():
    data = random.randbytes(random.randrange(5000))

    def outcome(whole):
        got = subprocess.run(whole, input=data, capture_output=True, timeout=60)
        return got.stdout, got.stderr, shell_status(got.returncode)
    return outcome


def with_terminal():
    """Lines, and then Ctrl-D or Ctrl-C. Each key waits for the copies of the lines before it."""
    lines = [b"%x" % random.getrandbits(random.randrange(1, 256)) for _ in range(random.randrange(1, 4))]
    copies = [b"".join((line + b"\r\n") * 2 for line in lines[:number]) for number in range(len(lines) + 1)]
    keys = [line + b"\r" for line in lines] + [random.choice((b"\x04", b"\x03"))]

    def outcome(whole):
        def key(text):
            def action(end, process):
                # This machine's terminal would echo it, too, before it is raw.
                while whole is there and termios.tcgetattr(end)[3] & termios.ECHO and process.poll() is None:
                    time.sleep(0.001)
                os.write(end, text)
            return action

        status, shown, right = on_terminal(whole, [(re.escape(copy), key(text)) for copy, text in zip(copies, keys)])
        return shown, shell_status(status), right or whole is here
    return outcome


def under_signals():
    """Signals that leave the command as it is, and then perhaps one that ends it: if there are no data, at any time."""
    ending = random.choice((None, signal.SIGTERM, signal.SIGHUP))
    data = random.randbytes(random.choice((0, random.randrange(1, 5000))))
    delay = random.random() * 0.3

    def outcome(whole):
        with subprocess.Popen(whole, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
            process.stdin.write(data)
            process.stdin.flush()
            copied = process.stdout.read(len(data))
            if data:
                # Here, Linux ignores SIGTSTP where no shell waits for this test's process group.
                process.send_signal(signal.SIGTSTP if whole is there else signal.SIGSTOP)
                os.waitid(os.P_PID, process.pid, os.WSTOPPED | os.WEXITED | os.WNOWAIT)
                process.send_signal(signal.SIGCONT)
            elif ending:
                time.sleep(delay)
            if ending:
                process.send_signal(ending)
                process.wait(60)
            output, errors = process.communicate(timeout=60)
            return copied + output, errors, shell_status(process.returncode)
    return outcome


def left_behind():
    """A shell's `cat` outlives a shell that a signal ends, and so does, for some milliseconds, a guest that has not begun yet."""
    deadline = time.monotonic() + 0.5
    while True:
        with open(f"/proc/self/task/{os.getpid()}/children") as children:
            left = children.read().split() + os.listdir(os.environ["TMPDIR"])
        if not left or time.monotonic() > deadline:
            return left
        try:
            if os.waitpid(-1, os.WNOHANG) == (0, 0):
                time.sleep(0.001)
        except ChildProcessError:
            pass


forms = (without_terminal, with_terminal, under_signals)
wrong = 0
seconds = 0
for number in range(runs):
    form = forms[number % len(forms)]
    outcome = form()
    wanted = outcome(here)
    left_behind()
    started = time.monotonic()
    got = outcome(there)
    seconds += time.monotonic() - started
    left = left_behind()
    if got != wanted or left:
        wrong += 1
        print(f"run {number}, {form.__name__}: here {wanted}, there {got}; left {left}", flush=True)
print(f"{runs} runs took {seconds / max(runs, 1):.3f} s each")
report(f"{runs} runs", wrong == 0, f"{wrong} wrong")
end_test()
