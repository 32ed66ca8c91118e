#!/usr/bin/env python3
"""boot.py PREVIRT run KERNEL OPTION...: boots Debian to a login, installs packages, and shuts it down in order."""
import json, os, subprocess, sys, time

previrt, run = sys.argv[1], sys.argv[1:]
name = f"debian{os.getpid()}"
seconds = 600
failures = 0


def report(what, good, text=""):
    global failures
    failures += not good
    print(f"{'passed' if good else 'FAILED'}: {what}" + (f": {text}" if text and not good else ""), flush=True)


class Console:
    """previrt console of the guest. What it has shown is searched once."""

    def __init__(self):
        self.process = subprocess.Popen([previrt, "console", name], stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.all = b""
        self.begin = 0

    def shows(self, wanted):
        while (at := self.all.find(wanted, self.begin)) < 0:
            more = os.read(self.process.stdout.fileno(), 65536)
            if not more:
                return False
            self.all += more
        self.begin = at + len(wanted)
        return True

    def type(self, text):
        self.process.stdin.write(text)
        self.process.stdin.flush()

    # The shell's echo of the command does not have the number.
    def command(self, what, text, wanted=b""):
        begin = time.monotonic()
        self.type(b"%s; echo status $(($? + 1000))\n" % text)
        good = self.shows(b"status 1000\r\n") if not wanted else self.shows(wanted) and self.shows(b"status 1000\r\n")
        report(what, good, f"{self.all[-2000:].decode(errors='replace')}")
        print(f"  {time.monotonic() - begin:.1f} s", flush=True)


def entry():
    listed = subprocess.run([previrt, "list", "--json"], capture_output=True, text=True, check=True).stdout
    return next((guest for guest in json.loads(listed) if guest["name"] == name), None)


begin = time.monotonic()
with subprocess.Popen([*run, "--name", name, "--timeout", str(seconds)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as guest:
    try:
        while not entry():
            if guest.poll() is not None:
                sys.exit("FAILED: the guest has not begun")
            time.sleep(0.05)
        console = Console()
        report("a login", console.shows(b"guest login: "), console.all.decode(errors="replace"))
        print(f"  after {time.monotonic() - begin:.1f} s", flush=True)
        console.type(b"root\n")
        report("it asks for a password", console.shows(b"assword: "))
        console.type(b"debian\n")
        report("a shell", console.shows(b"root@guest:"), console.all[-500:].decode(errors="replace"))
        # Lines of a serial terminal are cut at its width.
        console.command("a wide terminal", b"stty -echo cols 200; PS1=")
        console.command("systemd is content", b"systemctl is-system-running --wait", b"running\r\n")
        console.command("the packages' folder", b"mount -t virtiofs packages /mnt && ls /mnt | wc -l", b"4\r\n")
        console.command("apt installs packages from a folder",
                        b"DEBIAN_FRONTEND=noninteractive apt-get install -q -y /mnt/*.deb </dev/null >/tmp/apt 2>&1 || tail /tmp/apt")
        console.command("one of them runs", b"hello", b"Hello, world!\r\n")
        console.command("and another", b"echo '[1, 2, 3]' | jq -M add", b"6\r\n")
        if entry()["takes_commands"]:
            got = subprocess.run([previrt, "exec", name, "--", "sh", "-c", "hello; systemctl is-active systemd-journald"],
                                 capture_output=True, stdin=subprocess.DEVNULL, timeout=seconds)
            report("exec", (got.returncode, got.stdout) == (0, b"Hello, world!\nactive\n"), f"{got}")
        console.type(b"poweroff\n")
        report("it powers off", guest.wait(seconds) == 0 and console.process.wait(seconds) == 0, f"{guest.returncode}")
    finally:
        guest.kill()

sys.exit(failures != 0)
