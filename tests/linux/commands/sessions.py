#!/usr/bin/env python3
"""sessions.py WORK INITRD RUNS PREVIRT run KERNEL OPTION...: commands for running guests: exec, list, stop, cp."""
import contextlib, fcntl, filecmp, json, os, pathlib, pty, random, select, shutil, signal, socket, struct, subprocess, sys
import termios, threading, time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[2]))
from verdicts import end_test, report

work = pathlib.Path(sys.argv[1])
initrd, runs, previrt, run = sys.argv[2], int(sys.argv[3]), sys.argv[4], sys.argv[4:]
prefix = f"test{os.getpid()}"  # other tests have guests of the same user's
second_name = f"{prefix}-root"
first_name = f"{prefix}-command"


def ask(*arguments, **how):
    nothing = {} if "input" in how else {"stdin": subprocess.DEVNULL}
    return subprocess.run([previrt, *arguments], capture_output=True, timeout=120, **nothing, **how)


def execute(script, *options, name=first_name, **how):
    return ask("exec", name, *options, "--", "sh", "-c", script, **how)


def says(what, script, text, status=0, **how):
    got = execute(script, **how)
    report(what, (got.returncode, got.stdout, got.stderr) == (status, text, b""), f"{got}")


def refused(what, text, status, *arguments):
    got = ask(*arguments)
    report(what, got.returncode == status and text in got.stderr.decode(), f"{got}")


def mine():
    return [guest for guest in json.loads(ask("list", "--json").stdout) if guest["name"].startswith(prefix)]


@contextlib.contextmanager
def guest(name, *options):
    with subprocess.Popen([*run, "--name", name, *options], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                          stderr=subprocess.STDOUT) as process:
        try:
            yield process
        finally:
            process.kill()
            process.wait()


def until(what, condition, seconds=60):
    deadline = time.monotonic() + seconds
    while not condition():
        if time.monotonic() > deadline:
            report(what, False, f"not within {seconds} s")
            return
        time.sleep(0.05)


def until_ready(process):
    text = b""
    while (line := process.stdout.readline()) not in (b"ready\n", b""):
        text += line
    if not line:
        report("a guest is ready", False, f"{text}")


# A root with a first process of its own, which powers off as busybox asks it to.
root = work / "root"
for directory in ("bin", "sbin", "dev", "proc", "sys", "tmp"):
    (root / directory).mkdir(parents=True)
shutil.copy(shutil.which("busybox"), root / "bin/busybox")
for applet in subprocess.run(["busybox", "--list"], capture_output=True, text=True, check=True).stdout.split():
    if applet != "busybox":
        (root / "bin" / applet).symlink_to("busybox")
init = root / "sbin/init"
init.write_text("#!/bin/sh\nexport PATH=/bin\ntrap 'poweroff -f' USR2\nwhile :; do sleep 1 & wait; done\n")
init.chmod(0o755)

refused("no such guest", "no guest of this name runs", 125, "exec", prefix, "--", "true")
refused("nothing to stop", "no guest of this name runs", 2, "stop", prefix)
refused("a name that cannot be one", "a name has at most 63", 2, *run[1:], "--name", "../x")

with guest(first_name, "--initrd", initrd, "--", "sh", "-c", "trap 'exit 5' TERM; cd /tmp; echo ready; while :; do sleep 0.1; done") as one:
    until("the guest is listed", mine)  # the first exec then waits for the guest
    says("streams of their own", "echo out", b"out\n")
    got = execute("cat; echo error >&2; exit 7", input=bytes(range(256)) * 400)
    report("input, errors and status", (got.returncode, got.stdout, got.stderr) == (7, bytes(range(256)) * 400, b"error\n"),
           f"{got.returncode}, {len(got.stdout)} bytes, {got.stderr}")
    data = random.Random(1).randbytes(10 << 20)
    got = execute("cat", input=data)
    report("10 MiB through cat", got.returncode == 0 and got.stdout == data, f"{got.returncode}, {len(got.stdout)} bytes")
    got = execute('echo "$A $HOME"', "--env", "A=b c")
    report("variables", got.stdout == b"b c /root\n", f"{got}")
    refused("a command that is not there", "No such file", 127, "exec", first_name, "--", "no-such-command")
    refused("a file that is no program", "Permission denied", 126, "exec", first_name, "--", "/etc/passwd")
    says("killed by a signal", "kill -9 $$", b"", 137)
    says("it sees the guest's processes", "ps | grep -q '[w]hile :; do sleep 0.1' && echo yes", b"yes\n")
    refused("a second guest of the same name", "a guest of this name runs already", 125,
            *run[1:], "--name", first_name, "--initrd", initrd, "--", "true")

    listed = mine()
    report("list", len(listed) == 1 and listed[0]["name"] == first_name and listed[0]["process"] == one.pid and
           listed[0]["place"] == run[run.index("--on") + 1] and listed[0]["command"].startswith("sh -c trap"), f"{listed}")
    report("list is readable", first_name in ask("list").stdout.decode())

    # Many at once, and one after the other.
    results = []
    threads = [threading.Thread(target=lambda i=i: results.append((i, execute(f"cat; exit {i}", input=bytes([i]) * 100000))))
               for i in range(20)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    report("20 at once", all(got.returncode == i and got.stdout == bytes([i]) * 100000 for i, got in results) and len(results) == 20,
           f"{[(i, got.returncode, len(got.stdout), got.stderr) for i, got in results]}")
    wrong = [got for i in range(runs) if (got := execute(f"cat; echo {i} >&2; exit {i % 100}", input=b"x")).returncode != i % 100 or
             got.stdout != b"x" or got.stderr != b"%d\n" % i]
    report(f"{runs} in a row", not wrong, f"{wrong[:3]}")

    for name in ("INT", "TERM", "HUP", "USR1"):
        number = getattr(signal, "SIG" + name)
        with subprocess.Popen([previrt, "exec", first_name, "--", "sh", "-c",
                               f"trap 'echo got; exit 3' {name}; echo ready; while :; do sleep 0.05; done"],
                              stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
            process.stdout.readline()
            process.send_signal(number)
            rest = process.stdout.read()
            report(f"SIG{name}", (process.wait(20), rest) == (3, b"got\n"), f"{process.returncode}, {rest}")

    # A client that is killed hangs its command up. A reader that goes ends it as a closed pipe does.
    with subprocess.Popen([previrt, "exec", first_name, "--", "sh", "-c", "echo ready; sleep 777"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE) as process:
        process.stdout.readline()
        process.kill()
    until("a killed client's command ends", lambda: execute("ps | grep -c '[s]leep 777'").stdout == b"0\n")
    with subprocess.Popen([previrt, "exec", first_name, "--", "yes"], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE) as process:
        process.stdout.read(100)
        process.stdout.close()
        report("output that nobody reads", process.wait(20) == 141, f"{process.returncode}")
    until("nothing is left in the guest", lambda: execute("ps | grep -c '[p]revirt-agent'").stdout in (b"2\n",))

    # Clients that break the rules.
    path = f"{'/run/previrt' if os.geteuid() == 0 else os.environ.get('XDG_RUNTIME_DIR', '') + '/previrt'}/{first_name}.socket"
    for what, message, descriptors in (("no sockets", b"x", 0), ("one", b"x", 1), ("nine", b"x", 9), ("files", b"x", -3), ("text", b"x" * 5000, 0)):
        with socket.socket(socket.AF_UNIX) as client, open("/dev/null") as null:
            client.connect(path)
            numbers = [null.fileno() if descriptors < 0 else client.fileno()] * abs(descriptors)
            socket.send_fds(client, [message], numbers)
            client.settimeout(20)
            with contextlib.suppress(ConnectionError):
                client.recv(4096)  # the end, or that the agent has connected
    idle = [socket.socket(socket.AF_UNIX) for _ in range(100)]
    for client in idle:
        client.connect(path)
    time.sleep(0.5)
    got = execute("true")
    report("more than 64 clients: refused", got.returncode == 125 and b"takes no further command" in got.stderr, f"{got}")
    for client in idle:
        client.close()
    until("after them it goes on", lambda: execute("echo still").stdout == b"still\n")

    # A terminal.
    master, own = pty.openpty()
    fcntl.ioctl(own, termios.TIOCSWINSZ, struct.pack("HHHH", 33, 77, 0, 0))
    with subprocess.Popen([previrt, "exec", first_name, "--", "sh", "-c", "tty; stty size; read line; echo got $line; exit 6"],
                          stdin=own, stdout=own, stderr=own, start_new_session=True) as process:
        os.close(own)
        shown = b""
        sent = False
        while select.select([master], [], [], 20)[0]:
            try:
                shown += os.read(master, 4096)
            except OSError:
                break
            if b"33 77" in shown and not sent:
                sent = True
                os.write(master, b"keys\r")
            if process.poll() is not None:
                break
        report("a terminal", process.wait(20) == 6 and b"/dev/pts/" in shown and b"got keys" in shown, f"{process.returncode}, {shown}")
    os.close(master)

    # Files.
    tree = work / "a tree & more"
    (tree / "below").mkdir(parents=True)
    (tree / "below/file").write_bytes(random.Random(2).randbytes(3 << 20))
    (tree / "link").symlink_to("below/file")
    (tree / "odd \\ name, &\n").write_text("odd")
    os.chmod(tree / "below/file", 0o4755)
    back = work / "back"
    report("cp into the guest", ask("cp", str(tree), f"{first_name}:/tmp/new, name").returncode == 0)
    report("cp out of it", ask("cp", f"{first_name}:/tmp/new, name", str(back)).returncode == 0)
    comparison = filecmp.dircmp(tree, back)
    report("the copy is the same", not (comparison.left_only or comparison.right_only or comparison.diff_files) and
           (back / "below/file").read_bytes() == (tree / "below/file").read_bytes() and os.readlink(back / "link") == "below/file",
           f"{comparison.left_only}, {comparison.right_only}, {comparison.diff_files}")
    report("a copy out of a guest has no other user's rights", (back / "below/file").stat().st_mode & 0o7000 == 0,
           oct((back / "below/file").stat().st_mode))
    report("cp into a directory", ask("cp", str(tree / "below/file"), f"{first_name}:/tmp").returncode == 0 and
           execute("wc -c </tmp/file").stdout.split() == [b"3145728"])
    got = ask("cp", f"{first_name}:/tmp/none", str(work / "none"))
    report("cp of nothing", got.returncode == 1 and not (work / "none").exists(), f"{got}")
    refused("cp within this machine", "one of the two places", 2, "cp", "/a", "/b")

    got = ask("stop", first_name)
    report("stop ends a command by SIGTERM", got.returncode == 0 and one.wait(20) == 5, f"{got}, {one.returncode}")
report("its entry is gone", mine() == [], f"{mine()}")

with guest(second_name, "--root", str(root)) as two:
    until("a root of its own is listed", mine)
    says("a command beside the root's own first process", "cat /proc/1/comm", b"init\n", name=second_name)
    got = ask("stop", second_name)
    report("stop powers it off", got.returncode == 0 and two.wait(20) == 0, f"{got}, {two.returncode}")

with guest(first_name, "--initrd", initrd, "--", "sh", "-c", "trap '' TERM; echo ready; while :; do sleep 1; done") as three:
    until_ready(three)
    got = ask("stop", first_name, "--timeout", "1")
    report("stop kills what does not end", got.returncode == 1 and b"was killed" in got.stderr and three.wait(20) == -9, f"{got}")
report("an entry of a killed run is gone", mine() == [], f"{mine()}")

with guest(first_name, "--initrd", initrd, "--", "sleep", "1000") as four:
    until("a guest is listed", mine)
    with subprocess.Popen([previrt, "exec", first_name, "--", "sh", "-c", "echo ready; sleep 1000"], stdin=subprocess.DEVNULL,
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE) as process:
        process.stdout.readline()
        four.kill()
        text = process.communicate(timeout=20)[1]
        report("a guest that ends first", process.returncode == 125 and b"the guest ended before the command" in text, f"{text}")

# The processes of a killed run end a little after it.
for _ in range(5):
    with guest(first_name, "--initrd", initrd, "--", "sh", "-c", "echo ready; sleep 1000") as killed:
        until_ready(killed)
got = subprocess.run([*run, "--name", first_name, "--initrd", initrd, "--", "true"], capture_output=True, stdin=subprocess.DEVNULL)
report("a killed run's name is free", got.returncode == 0, f"{got}")

with guest(first_name, "--initrd", initrd) as five:
    until("a guest without an agent is listed", mine)
    refused("it takes no commands", "takes no commands", 125, "exec", first_name, "--", "true")
    got = ask("stop", first_name)
    report("stop ends it", got.returncode == 0 and five.wait(20) in (1, -signal.SIGTERM), f"{got}, {five.returncode}")

end_test()
