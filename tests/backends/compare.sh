#!/usr/bin/env bash
# compare.sh PROGRAM GUEST BARE-OUTPUT
# Runs a guest by a back-end that is a program of its own: it must print what it printed on bare metal.
set -euo pipefail
program=$1 guest=$2 bare=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0
timeout 50 "$program" "$guest" </dev/null >"$work/output" || status=$?
cat "$work/output"
compared() {
    tr -d '\r' <"$1" | sed -e '/^optional: /d' -e '/^previrt-vmm: end: /d'
}
compared "$bare" >"$work/wanted"
compared "$work/output" >"$work/got"
if ! grep -qx 'guest: end' "$work/wanted" || ! diff "$work/wanted" "$work/got" || [ "$status" -ne 0 ]; then
    echo "compare: FAILED: the status is $status, or the output differs from that on bare metal"
    exit 1
fi
