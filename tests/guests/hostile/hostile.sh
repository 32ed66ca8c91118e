#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# hostile.sh BACK-END GUEST PREVIRT STATUSES PATTERN [MUTATION]
# Runs a guest that misbehaves, or one whose package was damaged after packing. It must end with one of the
# STATUSES (0|1|endless; endless: it runs on until a signal ends it), and a line on one of the consoles must match
# PATTERN. Where there are several STATUSES, PATTERN shows how far the guest came. Xen must live. Of a guest in
# processes none may be left. process-isolate: with --isolate.
set -euo pipefail
backend=$1 guest=$2 previrt=$3 statuses=$4 pattern=$5 mutation=${6-}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
if [ -n "$mutation" ]; then
    chmod 711 "$work" # QEMU is no user of ours
    mkdir "$work/bin"
    cp "$(dirname "$0")/mutate_package.py" "$work/bin/qemu-system-x86_64"
    export PATH=$work/bin:$PATH HOSTILE_MUTATION=$mutation
fi
status=0
options=(--strict)
[[ $backend != xen* ]] || options+=(--verbose)
[[ $backend != *-isolate ]] || options+=(--isolate)
setsid "$previrt" run --on "${backend%-isolate}" --memory 64M --timeout 90 "${options[@]}" "$guest" \
    </dev/null >"$work/output" 2>"$work/errors" &
session=$!
runs() { kill -0 "$session" 2>/dev/null; }
ended=no
if [[ $statuses = *endless* ]]; then
    # The guest may run on. Its three seconds begin with its first line, or with its deed: Xen starts before.
    deed='^hostile: '
    [ "$statuses" = endless ] || deed=$pattern
    while runs && ! grep -aEq -- "$deed" <(cat "$work/output" "$work/errors" | tr -d '\r'); do sleep 0.2; done
    for ((tenths = 0; tenths < 30; tenths++)); do ! runs || sleep 0.1; done
    ! kill -TERM "$session" 2>/dev/null || ended=yes
fi
wait "$session" || status=$?
# A guest that ended by itself at that moment has a status of its own.
if [ "$ended" = yes ] && grep -aq '^previrt: ended by a signal' "$work/errors"; then
    status=endless
fi
# A guest may print without end.
head -c 10000 "$work/output" | tr -d '\r\0' | grep -av '^previrt-vmm:   ' || true
tail -n 40 "$work/errors"
fail() {
    echo "hostile: FAILED: $*"
    exit 1
}
[[ $status =~ ^($statuses)$ ]] || fail "the status is $status"
said=$(grep -av 'sha256\|^previrt: downloading \|^previrt: warning: \|^previrt: the VMM notes: ' "$work/errors" | grep -ac '^previrt: ' || true)
[ "$said" -eq "$([ "$status" = 0 ] && echo 0 || echo 1)" ] || fail "previrt said $said lines"
case $backend in
xen*)
    ! grep -aEq 'Panic on CPU|FATAL' "$work/errors" || fail "Xen panicked"
    grep -aq '^(XEN) Freed .* init memory' "$work/errors" || fail "Xen did not start a domain"
    ;;
process*) ! pgrep -l -s "$session" || fail "processes are left" ;;
esac
# A guest that may end in any way has lost its own way too: an exception that it did not expect is its own affair.
failure=FAIL
[ "$statuses" != '0|1|endless' ] || failure='FAIL: [^u]'
! grep -aq "$failure" "$work/output" || fail "the guest says so"
tr -d '\r' <"$work/output" | cat - "$work/errors" >"$work/all"
[ "$status" != endless ] || [ -n "$mutation" ] || grep -aq '^hostile: ' "$work/all" || fail "the guest did not begin"
grep -aEq -- "$pattern" "$work/all" || fail "nothing matches '$pattern'"
