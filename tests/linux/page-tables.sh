#!/usr/bin/env bash
# page-tables.sh ON KERNEL-DIRECTORY BUILD-DIRECTORY
# Programs that need more page tables than the VMM has room for get along, and it has evicted some.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
on=$1 kernel=$2 build=$3
require_kernels "$kernel"
printf '#!/bin/sh\npage_tables\n' >"$work/run-me"
chmod +x "$work/run-me"
"$userland/make-initrd" "$work/initrd" /run-me="$work/run-me" /bin/page_tables="$build/tests/linux/page_tables"
run_guest "$build/toolchain/previrt" "$on" "$kernel/bzImage" --initrd "$work/initrd" --append quiet --memory 512M \
    --timeout 350 --stats "$work/stats.json"
right=$(grep -c '^page tables: .*: right' "$work/console" || true)
if [ "$status" -ne 0 ] || [ "$right" -ne 3 ]; then
    echo "page-tables: FAILED with status $status, $right of 3 right"
    exit 1
fi
grep -q '"shadow_tables_evicted":[1-9]' "$work/stats.json" || { echo "page-tables: FAILED: no table was evicted"; exit 1; }
