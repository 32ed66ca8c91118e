#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""compare.py HOST GUEST DIFFERENCES PLACE FORM: verdicts of a guest against those of a chroot on the host. What differs has to
stand in DIFFERENCES with its reason, and what stands there has to differ."""
import fnmatch
import re
import sys


def read_verdicts(path):
    verdicts = {}
    for line in open(path, errors="replace"):
        name, _, verdict = line.rstrip("\n").removeprefix("= ").partition(": ")
        # One name may have several verdicts.
        verdicts[name] = f"{verdicts[name]}; {verdict}" if name in verdicts else verdict
    return verdicts


def read_differences(path, place, form):
    """Lines `must|may PLACES FORMS NAME -- REASON`; `must`: it always differs; `may`: it depends on time or chance."""
    found = []
    for number, line in enumerate(open(path), 1):
        if not line.strip() or line.startswith("#"):
            continue
        entry = re.fullmatch(r"(must|may) (\S+) (\S+) (.+?) -- (.+)", line.strip())
        if not entry:
            sys.exit(f"{path}:{number}: not `must|may PLACES FORMS NAME -- REASON`")
        how, places, forms, name, _ = entry.groups()
        if any(fnmatch.fnmatch(place, one) for one in places.split(",")) and fnmatch.fnmatch(form, forms):
            found.append((how, name))
    return found


def main():
    host, guest = read_verdicts(sys.argv[1]), read_verdicts(sys.argv[2])
    listed = read_differences(*sys.argv[3:6])
    if not host:
        sys.exit("userland: FAILED: the host has no verdicts")
    different = [name for name in {**host, **guest} if host.get(name) != guest.get(name)]
    failed = 0
    for name in different:
        told = any(fnmatch.fnmatchcase(name, pattern) for _, pattern in listed)
        failed += not told
        print(f"{'listed' if told else 'DIFFERS'}: {name}: host '{host.get(name)}', guest '{guest.get(name)}'")
    classes = {name.split()[0] for name in host}
    for how, pattern in listed:
        vanished = not any(fnmatch.fnmatchcase(name, pattern) for name in different)
        if how == "must" and pattern.split()[0] in classes and vanished:
            failed += 1
            print(f"VANISHED: {pattern} no longer differs: take it from the list")
    print(f"userland: {len(host)} verdicts, {len(different)} differ, {failed} of them unexplained or vanished")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
