#!/usr/bin/env bash
# compare.sh BACK-END GUEST BARE-OUTPUT PREVIRT
# Runs a guest on a back-end (kvm-isolate, process-isolate: with --isolate): it must print what it printed on bare metal, but for lines of optional features and
# what BACK-END_differences.txt lists. Where XCR0 is the host's, the VMM says so.
set -euo pipefail
backend=$1 guest=$2 bare=$3 previrt=$4
options=()
[[ $backend != *-isolate ]] || options=(--isolate)
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
status=0
"$previrt" run --on "${backend%-isolate}" --memory 64M --timeout 100 "${options[@]}" "$guest" </dev/null >"$work/output" 2>"$work/errors" ||
    status=$?
cat "$work/output" "$work/errors"
# Refused before anything ran, for what this machine lacks and not for what the guest is.
if [ "$status" -eq 2 ] && ! [ -s "$work/output" ] &&
    tail -n 1 "$work/errors" | grep -Eq 'not built|apt-get|/dev/kvm'; then
    echo "skipped: previrt run --on $backend: $(tail -n 1 "$work/errors")"
    exit 77
fi
differences=$(dirname "$0")/${backend%-isolate}_differences.txt
: >"$work/known"
if [ -e "$differences" ]; then
    sed -n "s/^\\($backend\\|${backend%-isolate}\*\\) $(basename "$guest" .elf) \\(.*\\)/\\2/p" "$differences" | sed 's/[][/\\.*^$]/\\&/g' |
        sed 's/.*/\/^\\(ok\\|FAIL\\): &\\($\\|:\\)\/d/' >"$work/known"
fi
compared() {
    tr -d '\r' <"$1" | sed -e '/^optional: /d' -e '/^previrt-vmm: programs see vector registers /d' -f "$work/known"
}
compared "$bare" >"$work/wanted"
compared "$work/output" >"$work/got"
if ! diff "$work/wanted" "$work/got" || grep -q FAIL "$work/got" || [ "$status" -ne 0 ]; then
    echo "compare: FAILED: the status is $status, or the output differs from that on bare metal"
    exit 1
fi
