#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""compare.py PLACE GUEST BARE-OUTPUT PREVIRT
Runs a guest at a place (kvm-isolate, process-isolate: with --isolate). It prints what it printed on bare metal, and as many
checks as its source says, but for lines of optional features and for the differences that are listed for this place. Each of
those has to occur."""
import difflib
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
# Where XCR0 is the host's, the VMM says so.
LEFT_OUT = re.compile(r"optional: |previrt-vmm: programs see vector registers ")


def vendor():
    return re.search(r"^vendor_id\s*: (.*)", pathlib.Path("/proc/cpuinfo").read_text(), re.MULTILINE)[1]


def read_differences(place, guest):
    """The checks that fail here: lines `must|may PLACE[@VENDOR] GUEST CHECK` of PLACE_differences.txt. A PLACE with an asterisk
    is also its -isolate, a VENDOR that of the processor; `may` is for what depends on time or chance."""
    base = place.removesuffix("-isolate")
    kind = f"_{os.environ['PREVIRT_KVM_KIND']}" if base == "kvm" else ""  # tests/machine/needs says it
    path = HERE / f"{base}{kind}_differences.txt"
    listed = {}
    for number, line in enumerate(path.read_text().splitlines() if path.exists() else [], 1):
        if not line or line.startswith("#"):
            continue
        entry = re.fullmatch(rf"(must|may) ({base}(?:-isolate|\*)?)(?:@(\S+))? (\S+) (.+)", line)
        if not entry or not (HERE / f"{entry[4]}.c").exists():
            sys.exit(f"{path}:{number}: not `must|may PLACE[@VENDOR] GUEST CHECK`")
        if entry[4] == guest and entry[2] in (place, f"{base}*") and entry[3] in (None, vendor()):
            listed[entry[5]] = entry[1]
    return listed


def printed(data):
    lines = data.decode(errors="replace").replace("\r", "").splitlines()
    return [line for line in lines if not LEFT_OUT.match(line)]


def listed_check(line, listed):
    """The listed difference that a line is about, if any."""
    words = re.match(r"(?:ok|FAIL): (.*)", line)
    return next((check for check in listed if words and f"{words[1]}:".startswith(f"{check}:")), None)


def main():
    place, image, bare, previrt = sys.argv[1:]
    guest = pathlib.Path(image).stem
    source = (HERE / f"{guest}.c").read_text()
    processors = re.search(r"^ \* processors: (\d+)$", source, re.MULTILINE)
    cpus = ["--cpus", processors[1]] if processors else []
    isolate = ["--isolate"] if place.endswith("-isolate") else []
    run = subprocess.run([previrt, "run", "--on", place.removesuffix("-isolate"), "--memory", "64M", "--timeout", "300",
                          *cpus, *isolate, image], stdin=subprocess.DEVNULL, capture_output=True, check=False)
    sys.stdout.write((run.stdout + run.stderr).decode(errors="replace"))
    listed = read_differences(place, guest)
    wanted, got = printed(pathlib.Path(bare).read_bytes()), printed(run.stdout)
    failures = [f"the status is {run.returncode}"] if run.returncode != 0 else []
    compared = [[line for line in lines if not listed_check(line, listed)] for lines in (wanted, got)]
    if compared[0] != compared[1]:
        print(*difflib.unified_diff(*compared, "bare", place, lineterm=""), sep="\n")
        failures.append("the output differs from that on bare metal")
    if any("FAIL" in line for line in compared[1]):
        failures.append("a check fails")
    occurred = {listed_check(line, listed) for line in got if line.startswith("FAIL: ")}
    failures += [f"'{check}' is listed and does not fail: take it from the list"
                 for check, how in listed.items() if how == "must" and check not in occurred]
    checks = sum(line.startswith(("ok: ", "FAIL: ")) for line in got)
    stated = int(re.search(r"^ \* checks: (\d+)$", source, re.MULTILINE)[1])
    if checks != stated:
        failures.append(f"{checks} checks, of {stated}")
    for failure in failures:
        print(f"compare: FAILED: {failure}")
    sys.exit(bool(failures))


main()
