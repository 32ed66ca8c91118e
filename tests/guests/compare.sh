#!/usr/bin/env bash
# compare.sh BACK-END GUEST BARE-OUTPUT PREVIRT
# Runs a guest on a back-end: it must print what it printed on bare metal, but for lines of optional features.
set -euo pipefail
backend=$1 guest=$2 bare=$3 previrt=$4
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0
"$previrt" run --on "$backend" --memory 64M --timeout 100 "$guest" </dev/null >"$work/output" 2>"$work/errors" ||
    status=$?
cat "$work/output" "$work/errors"
# Refused before anything ran, for what this machine lacks and not for what the guest is.
if [ "$status" -eq 2 ] && ! [ -s "$work/output" ] &&
    tail -n 1 "$work/errors" | grep -Eq 'not built|apt-get'; then
    echo "skipped: previrt run --on $backend: $(tail -n 1 "$work/errors")"
    exit 77
fi
if ! diff <(grep -v '^optional: ' "$bare") <(tr -d '\r' <"$work/output" | grep -v '^optional: ') ||
    grep -q FAIL "$work/output" || [ "$status" -ne 0 ]; then
    echo "compare: FAILED: the status is $status, or the output differs from that on bare metal"
    exit 1
fi
