#!/usr/bin/env python3
# SPDX-License-Identifier: BSD-2-Clause
"""check_profile.py PROFILE.json FOLDED FLAMES.svg SYSTEM.map: a profile of a program that forks."""
import json
import sys
import xml.etree.ElementTree

profile, folded, flames, symbols = sys.argv[1:]
report = json.load(open(profile))
rows = report["rows"]
functions = {line.split()[2] for line in open(symbols)}
failures = []


def require(condition, what):
    if not condition:
        failures.append(what)


named = {row["function"] for row in rows if "function" in row}
require(named <= functions, f"no functions of this kernel: {sorted(named - functions)[:5]}")
# Linux copies a process's page tables in the first, and in the second the page to which a child writes.
for function, cause in (
    ("copy_page_range", "site_call"),
    ("wp_page_copy", "site_call"),
):
    count = sum(row["count"] for row in rows if row.get("function") == function and row["cause"] == cause)
    require(count >= 300, f"{function}: {count} of {cause}")
kinds = {(row["cause"], row.get("kind")) for row in rows}
for wanted in (("site_call", "page_table_write"), ("site_call", "iret"), ("port_access", "out")):
    require(wanted in kinds, f"no row of {wanted}")
require(any(row["cause"] == "true_fault" and row.get("place") == "programs" and row["count"] > 300 for row in rows), "faults of programs")
require(any(row.get("cycles", 0) > 0 for row in rows), "no cycles")
unnamed = sum(row["count"] for row in rows if "function" not in row and "place" not in row)
every = sum(row["count"] for row in rows)
require(unnamed * 100 < every, f"{unnamed} of {every} without a name")
require(report["left_out"] == {"rows": 0, "count": 0}, "rows are left out")
for cause, sums in report["causes"].items():
    require(sums["count"] == sum(row["count"] for row in rows if row["cause"] == cause), f"the sum of {cause}")

values = 0
for number, line in enumerate(open(folded), 1):
    stack, _, value = line.rstrip("\n").rpartition(" ")
    require(len(stack.split(";")) == 3 and value.isdigit(), f"{folded}:{number}: {line}")
    values += int(value)
require(values == every, f"folded stacks of {values}, and rows of {every}")

root = xml.etree.ElementTree.parse(flames).getroot()
name = "{http://www.w3.org/2000/svg}"
titles = [title.text for title in root.iter(f"{name}title")]
require(root.tag == f"{name}svg" and f"all: {every} times" in titles, "the flame graph's whole")
require(any(title.startswith("copy_page_range: ") for title in titles), "the flame graph has no copy_page_range")
for failure in failures:
    print(f"check_profile: {failure}")
sys.exit(bool(failures))
