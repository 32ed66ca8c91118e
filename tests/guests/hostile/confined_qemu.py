#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""confined_qemu.py PREVIRT PLACE GUEST [as-anybody]
While a guest runs under QEMU, each thread of QEMU has a seccomp filter, no capabilities, and another user than root;
nothing of ours that it was not given; and it ends with its monitor, even where that is killed. `as-anybody`: also where
previrt is started by another user, or by a root that can become no other, which it says."""
import os
import pathlib
import shutil
import subprocess
import sys
import tempfile
import time

previrt, place, guest, *as_anybody = sys.argv[1:]
CAPABILITIES = ["CapInh", "CapPrm", "CapEff", "CapBnd", "CapAmb"]
SOMEBODY = 65533
AS_SOMEBODY = ["setpriv", f"--reuid={SOMEBODY}", f"--regid={SOMEBODY}", "--clear-groups"]
AS_ROOT_ALONE = ["unshare", "--user", "--map-root-user"]
WITHOUT_SETUID = ["setpriv", "--bounding-set=-setuid", "--inh-caps=-setuid"]
WARNING = "previrt: warning: layers between the guest and this machine are missing: a user other than root for QEMU"
failures = []
started = []


def expect(what, holds, seen=""):
    print(f"{'passed' if holds else 'FAILED'}: {place}: {what}{'' if holds else f': {seen}'}")
    if not holds:
        failures.append(what)


def descendants(parent):
    for task in os.listdir(f"/proc/{parent}/task"):
        for child in pathlib.Path(f"/proc/{parent}/task/{task}/children").read_text().split():
            yield child
            yield from descendants(child)


def find_qemu(run):
    for process in descendants(run.pid):
        if pathlib.Path(f"/proc/{process}/comm").read_text().startswith("qemu-system"):
            return process
    return None


def fields_of(file):
    return dict(line.split(":", 1) for line in file.read_text().splitlines())


class NoMachine(Exception):
    """previrt refuses, or fails."""


class Machine:
    """A QEMU whose guest runs."""

    def __init__(self, kernel, prefix=(), inherited=()):
        self.run = subprocess.Popen([*prefix, previrt, "run", "--on", place, "--memory", "64M", "--timeout", "100",
                                     kernel], stdin=subprocess.DEVNULL, stdout=subprocess.PIPE,
                                    stderr=subprocess.PIPE, pass_fds=inherited)
        started.append(self.run)
        if not os.read(self.run.stdout.fileno(), 1):  # the guest says something
            raise NoMachine(self.run.communicate()[1].decode(), self.run.returncode)
        self.process = find_qemu(self.run)
        self.directory = pathlib.Path("/proc", self.process)
        self.threads = [fields_of(task / "status") for task in self.directory.glob("task/*")]

    def values(self, field):
        return {value for thread in self.threads for value in thread[field].split()}

    def end(self):
        """What previrt said."""
        self.run.terminate()
        return self.run.communicate()[1].decode()

    def has_ended(self):
        end = time.monotonic() + 10
        while time.monotonic() < end:
            if not self.directory.exists() or fields_of(self.directory / "status")["State"].split()[0] in "ZX":
                return True
            time.sleep(0.05)
        return False

    def expect_confined(self, who, bounded):
        seen = {field: self.values(field) for field in ["Seccomp", "NoNewPrivs", *CAPABILITIES]}
        if not bounded:
            del seen["CapBnd"]  # only root can make it less
        expect(f"{who}: a filter, no capabilities",
               all(values == ({"2"} if field == "Seccomp" else {"1"} if field == "NoNewPrivs" else {"0" * 16})
                   for field, values in seen.items()), seen)


def check_as_we_are(kernel, secret):
    machine = Machine(kernel, inherited=[secret.fileno()])
    machine.expect_confined("as we are", os.geteuid() == 0)
    users, groups = machine.values("Uid"), machine.values("Gid") | machine.values("Groups")
    if os.geteuid() == 0:
        expect("another user than root", not {"0", str(os.getuid())} & (users | groups), (users, groups))
    files = [os.readlink(file) for file in machine.directory.glob("fd/*")]
    expect("only descriptors that it was given", secret.name not in files, files)
    terminal = (machine.directory / "stat").read_text().rpartition(")")[2].split()[4]
    expect("no terminal", terminal == "0" and os.getsid(int(machine.process)) != os.getsid(0), terminal)
    machine.run.kill()
    expect("it ends with a killed previrt", machine.has_ended())
    said = machine.run.communicate()[1].decode()
    expect("no warning", "warning" not in said, said)


def check_as_somebody(kernel):
    machine = Machine(kernel, AS_SOMEBODY)
    machine.expect_confined("as somebody", False)
    expect("as somebody: that user", machine.values("Uid") == {str(SOMEBODY)}, machine.values("Uid"))
    said = machine.end()
    expect("as somebody: no warning", "warning" not in said, said)


def check_where_root_stays(name, prefix, kernel):
    machine = Machine(kernel, prefix)
    machine.expect_confined(name, True)
    said = machine.end()
    expect(f"{name}: one warning", said.count("warning") == 1 and WARNING in said, said)
    refused = subprocess.run([*prefix, previrt, "run", "--on", place, "--require-isolation", kernel],
                             stdin=subprocess.DEVNULL, capture_output=True, check=False)
    expect(f"{name}: --require-isolation refuses", refused.returncode == 2, refused)


def check(check_machine, *arguments):
    try:
        check_machine(*arguments)
    except NoMachine as error:
        expect("there is a machine", False, error.args)
    finally:
        for run in started:
            run.kill()


def works(prefix):
    return subprocess.run([*prefix, "true"], stderr=subprocess.DEVNULL, check=False).returncode == 0


with tempfile.TemporaryDirectory() as directory, tempfile.NamedTemporaryFile() as secret:
    own = shutil.copy(guest, directory)
    os.chmod(own, 0o600)  # as the directory, which nobody else gets through
    check(check_as_we_are, own, secret)
    if as_anybody and os.geteuid() == 0:
        check(check_as_somebody, guest)
        for name, prefix in [("root alone", AS_ROOT_ALONE), ("root without CAP_SETUID", WITHOUT_SETUID)]:
            if works(prefix):
                check(check_where_root_stays, name, prefix, own)
            else:
                print(f"left out: {place}: {name}: this machine refuses {prefix[0]}")
sys.exit(bool(failures))
