#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""compare.py PLACE GUEST PREVIRT SEED CASES
Executes CASES random instructions at a place (kvm-isolate, process-isolate: with --isolate) and on a bare PC, and compares the
digests of their results. The place `bare` is compared with itself. Where digests differ, it finds the first such case of each
label and shows what differs. differences.txt lists the labels that may, or have to, differ at a place."""
import difflib
import fnmatch
import os
import pathlib
import re
import subprocess
import sys

HERE = pathlib.Path(__file__).parent
MOST_SHOWN = 8
MOST_IN_A_RUN = 100000
RESULT = re.compile(r"(?:(?P<number>\d+) )?(?P<label>[a-z_0-9]+(?:-[a-z_0-9'-]+)+)(?: (?P<count>\d+))? (?P<digest>0x[0-9a-f]+)$")

# What a place lacks is left out of the cases (differences.txt has the rest): a digest compares all or nothing.
OMITTED = {
    "process": ["user_segments=0", "guarded=0"],
    "process-isolate": ["user_segments=0"],
    "xen": ["traps=0"],
    "kvm_interpreted": ["selectors=0", "nested_task=0", "guarded=0"],
    "kvm_interpreted-isolate": ["selectors=0", "nested_task=0"],
}


def kind_of(place):
    """kvm_interpreted, if its processor does not virtualize: tests/machine/needs says it."""
    return re.sub(r"^kvm\b", f"kvm_{os.environ.get('PREVIRT_KVM_KIND', 'interpreted')}", place)


class Machine:
    def __init__(self, place, image, previrt, words):
        self.place, self.image, self.previrt, self.words = place, image, previrt, words

    def run(self, *words):
        line = " ".join([*self.words, *words])
        if self.place == "bare":
            command = ["timeout", "300", "qemu-system-x86_64", "-accel", "tcg", "-cpu", "max,-smap", "-nodefaults", "-display",
                       "none", "-no-reboot", "-serial", "stdio", "-m", "64", "-kernel", self.image, "-append", line]
        else:
            isolate = ["--isolate"] if self.place.endswith("-isolate") else []
            command = [self.previrt, "run", "--quiet", "--on", self.place.removesuffix("-isolate"), *isolate, "--memory", "64M",
                       "--timeout", "300", "--append", line, self.image]
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, check=False)
        lines = done.stdout.decode(errors="replace").replace("\r", "").splitlines()
        if done.returncode != 0 or "guest: end" not in lines:
            print(*lines[-30:], done.stderr.decode(errors="replace"), sep="\n")
            return None, lines
        return [match for line in lines if (match := RESULT.match(line))], lines

    def labels(self):
        results, _ = self.run()
        return None if results is None else {match["label"]: (match["count"], match["digest"]) for match in results}

    def cases(self):
        results, _ = self.run("list=1")
        return {int(match["number"]): (match["label"], match["digest"]) for match in results or [] if match["number"]}

    def shown(self, number):
        _, lines = self.run(f"show={number}")
        begin = next((i for i, line in enumerate(lines) if line.startswith(f"case {number}:")), len(lines))
        return [line for line in lines[begin:] if line.startswith(("case ", "  ", " result:"))]


def read_differences(place):
    """Lines `must|may PLACE LABEL`: LABEL is a pattern, PLACE one of this tree, with * for it and its -isolate, or `all`."""
    listed = []
    path = HERE / "differences.txt"
    for number, line in enumerate(path.read_text().splitlines(), 1):
        if not line or line.startswith("#"):
            continue
        entry = re.fullmatch(r"(must|may) (\S+) (\S+)", line)
        if not entry:
            sys.exit(f"{path}:{number}: not `must|may PLACE LABEL`")
        if entry[2] == "all" or fnmatch.fnmatchcase(place, entry[2]):
            listed.append((entry[3], entry[1]))
    return listed


def show_first(reference, machine, labels):
    wanted, got = reference.cases(), machine.cases()
    first = {}
    for number, result in sorted(wanted.items()):
        if got.get(number) != result:
            first.setdefault(result[0], number)
    for number in sorted(number for label, number in first.items() if label in labels)[:MOST_SHOWN]:
        print(*difflib.unified_diff(reference.shown(number), machine.shown(number), "bare", machine.place, n=50, lineterm=""),
              sep="\n")


def compare_run(place, image, previrt, seed, cases, occurred):
    words = [f"seed={seed}", f"cases={cases}", *OMITTED.get(kind_of(place), [])]
    reference, machine = Machine("bare", image, previrt, words), Machine(place, image, previrt, words)
    wanted, got = reference.labels(), machine.labels()
    if wanted is None or got is None or not wanted:
        print(f"compare: FAILED: the guest does not end: seed {seed}")
        return 0, False
    differing = {label for label in wanted.keys() | got.keys() if wanted.get(label) != got.get(label)}
    if place != "bare":
        for pattern, _ in read_differences(place):
            matching = set(fnmatch.filter(differing, pattern))
            if matching:
                occurred.add(pattern)
            differing -= matching
    if differing:
        print(f"compare: FAILED: seed {seed}: the results differ: {' '.join(sorted(differing))}")
        show_first(reference, machine, differing)
    return sum(int(count) for count, _ in got.values()), not differing


def main():
    place, image, previrt, seed, cases = *sys.argv[1:4], int(sys.argv[4]), int(sys.argv[5])
    executed, good, occurred = 0, True, set()
    while cases > 0 and good:
        part = min(cases, MOST_IN_A_RUN)
        count, good = compare_run(place, image, previrt, seed, part, occurred)
        executed, cases, seed = executed + count, cases - part, seed + 1
    never = [pattern for pattern, how in read_differences(place) if how == "must" and pattern not in occurred]
    if good and place != "bare":
        for pattern in never:
            print(f"compare: FAILED: '{pattern}' is listed and does not differ: take it from the list")
        good = not never
    print(f"{executed} cases at {place}, the last seed is {seed - 1}")
    sys.exit(not good)


main()
