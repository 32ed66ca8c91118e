#!/usr/bin/env bash
# bare.sh GUEST OUTPUT
# Runs a guest on a bare PC and leaves what it printed in OUTPUT, for compare.py. It must print as many `ok:` lines as its
# source says, so that one that ends early is not taken for one that found nothing wrong.
# Its time is the number of its instructions (-icount), so that a busy host does not make interrupts pile up.
set -euo pipefail
guest=$1 output=$2
rm -f "$output"
status=0
source=$(dirname "$0")/$(basename "$guest" .elf).c
processors=$(sed -n 's/^ \* processors: //p' "$source")
timeout 300 qemu-system-x86_64 -accel tcg -cpu max,-smap -nodefaults -display none -no-reboot -serial stdio -m 64 -smp "${processors:-1}" \
    -icount shift=3,sleep=off -rtc clock=vm -kernel "$guest" </dev/null >"$output.part" || status=$?
cat "$output.part"
if [ "$status" -ne 0 ] || ! grep -qx 'guest: end' "$output.part" || grep -q FAIL "$output.part"; then
    echo "bare: FAILED: QEMU's status is $status"
    exit 1
fi
stated=$(sed -n 's/^ \* checks: //p' "$source")
checks=$(grep -c '^ok: ' "$output.part" || true)
if [ "$checks" -ne "$stated" ]; then
    echo "bare: FAILED: $checks checks, of $stated"
    exit 1
fi
mv "$output.part" "$output"
