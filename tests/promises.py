#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""promises.py CTEST BUILD-DIRECTORY PAGE
Each row of the page's tables states a promise and names tests that hold it, all of which exist."""
import fnmatch
import json
import re
import subprocess
import sys

ctest, build, page = sys.argv[1:]
listed = subprocess.run([ctest, "--test-dir", build, "--show-only=json-v1"], capture_output=True, check=True).stdout
# Behind it GoogleTest puts a parameter's value.
tests = {test["name"].partition("  #")[0].strip() for test in json.loads(listed)["tests"]}
failures, promises = [], 0
for number, line in enumerate(open(page), 1):
    if not line.startswith("|") or re.match(r"\|(---| promise )", line):
        continue
    promises += 1
    promise, names = line.rstrip().strip("|").rsplit("|", 1)
    if not promise.strip() or not re.fullmatch(r"( `[^`]+`)+ ", names):
        failures.append(f"{number}: not `| promise | tests |`")
    for name in re.findall(r"`([^`]+)`", names):
        if not fnmatch.filter(tests, name):
            failures.append(f"{number}: there is no test {name}")
for failure in failures:
    print(f"{page}:{failure}")
print(f"promises: {promises} promises, {len(tests)} tests, {len(failures)} failures")
sys.exit(bool(failures) or promises == 0)
