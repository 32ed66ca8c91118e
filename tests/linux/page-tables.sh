#!/usr/bin/env bash
# page-tables.sh ON KERNEL-DIRECTORY BUILD-DIRECTORY
# Programs that need more page tables than the VMM has room for get along, and it has evicted some. In a process, the
# host's own page tables stay below the bound meanwhile.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
on=$1 kernel=$2 build=$3
make_program_initrd "$build" page_tables page_tables
if [ "$on" = process ]; then
    "$here/page_tables_of.py" "$work/end" >"$work/host" &
    watcher=$!
fi
run_guest "$build/toolchain/previrt" "$on" "$kernel/bzImage" --initrd "$work/initrd" --append quiet --memory 512M \
    --timeout 350 --stats "$work/stats.json"
if [ "$on" = process ]; then
    touch "$work/end"
    wait "$watcher"
    cat "$work/host"
    read -r _ most _ <"$work/host"
    # It would be ended at 384: docs/process.md.
    [ "$most" -gt 5 ] && [ "$most" -lt 192 ] || { echo "page-tables: FAILED: not between 5 and 192"; exit 1; }
fi
require_right page-tables "page tables" 4
grep -q '"shadow_tables_evicted":[1-9]' "$work/stats.json" || { echo "page-tables: FAILED: no table was evicted"; exit 1; }
