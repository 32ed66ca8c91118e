#!/usr/bin/env python3
"""boot.py PREVIRT run KERNEL OPTION...: boots Debian to a login, installs packages, and shuts it down in order."""
import os, pathlib, subprocess, sys, time

sys.path.append(str(pathlib.Path(__file__).resolve().parents[1]))
from guest_console import ConsoleClient, entry_of
from verdicts import end_test, report

previrt, run = sys.argv[1], sys.argv[1:]
name = f"debian{os.getpid()}"
seconds = 600


def entry():
    return entry_of(previrt, name)


# The shell's echo of the command does not have the number.
def command(what, text, wanted=b""):
    begin = time.monotonic()
    console.type(b"%s; echo status $(($? + 1000))\n" % text)
    good = (not wanted or console.shows(wanted)) and console.shows(b"status 1000\r\n")
    report(what, good, console.text[-2000:].decode(errors="replace"))
    print(f"  {time.monotonic() - begin:.1f} s", flush=True)


begin = time.monotonic()
with subprocess.Popen([*run, "--name", name, "--timeout", str(seconds)], stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL) as guest:
    try:
        while not entry():
            if guest.poll() is not None:
                sys.exit("FAILED: the guest has not begun")
            time.sleep(0.05)
        console = ConsoleClient(previrt, name, seconds)
        report("a login", console.shows(b"guest login: "), console.text.decode(errors="replace"))
        print(f"  after {time.monotonic() - begin:.1f} s", flush=True)
        console.type(b"root\n")
        report("it asks for a password", console.shows(b"assword: "))
        console.type(b"debian\n")
        report("a shell", console.shows(b"root@guest:"), console.text[-500:].decode(errors="replace"))
        # Lines of a serial terminal are cut at its width.
        command("a wide terminal", b"stty -echo cols 200; PS1=")
        command("systemd is content", b"systemctl is-system-running --wait", b"running\r\n")
        has_folder = "--share" in run
        command("the packages' folder", (b"mount -t virtiofs packages /mnt" if has_folder else b"mount --bind /opt/packages /mnt") +
                b" && ls /mnt | wc -l", b"4\r\n")
        command("apt installs packages from a folder",
                        b"DEBIAN_FRONTEND=noninteractive apt-get install -q -y /mnt/*.deb </dev/null >/tmp/apt 2>&1 || { tail /tmp/apt; false; }")
        command("one of them runs", b"hello", b"Hello, world!\r\n")
        command("and another", b"echo '[1, 2, 3]' | jq -M add", b"6\r\n")
        takes_commands = "--root" in run and run[run.index("--on") + 1] in ("process", "kvm")
        report("exec where there is an agent", entry()["takes_commands"] == takes_commands, f"{entry()}")
        if takes_commands:
            got = subprocess.run([previrt, "exec", name, "--", "sh", "-c", "hello; systemctl is-active systemd-journald"],
                                 capture_output=True, stdin=subprocess.DEVNULL, timeout=seconds)
            report("exec", (got.returncode, got.stdout) == (0, b"Hello, world!\nactive\n"), f"{got}")
        console.type(b"poweroff\n")
        report("it powers off", guest.wait(seconds) == 0 and console.status() == 0, f"{guest.returncode}")
    finally:
        guest.kill()

end_test()
