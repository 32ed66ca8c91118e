#!/usr/bin/env bash
# driver.sh KERNEL-DIRECTORY PREVIRT
# The way of docs/annotate-a-driver.md: Linux's ns83820, as it comes, gets one line, is built as a module from
# elsewhere and audited; its register accesses carry its tag.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
kernel=$1 previrt=$2
grep -v PREVIRT_DEVICE "$(source_of "$kernel")/drivers/net/ethernet/natsemi/ns83820.c" >"$work/untouched.c"
{ echo '#define PREVIRT_DEVICE PREVIRT_DEVICE_DP83820'; cat "$work/untouched.c"; } >"$work/my-ns83820.c"
rm "$work/untouched.c"
echo 'obj-m := my-ns83820.o' >"$work/Makefile"
"$kernel/make" M="$work" modules >"$work/log" 2>&1 || { tail -n 20 "$work/log"; exit 1; }
"$previrt" audit "$work/my-ns83820.ko"
"$previrt" sites --json "$work/my-ns83820.ko" | python3 -c '
import json, sys

sites = json.load(sys.stdin)["sites"]
tags = {site["operand"] for site in sites if site["kind"] in ("mmio_read", "mmio_write")}
accesses = sum(site["kind"] in ("mmio_read", "mmio_write") for site in sites)
print(f"1 line annotated: {accesses} register accesses, {len(sites)} sites; device tags {tags}")
assert tags == {1} and accesses > 100
'
