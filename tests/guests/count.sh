#!/usr/bin/env bash
# count.sh GUEST BUILD-DIRECTORY
# bench/count-instructions tells the VMM's functions apart in a guest's run, and refuses what it cannot count.
set -euo pipefail
guest=$1 build=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
count() {
    "$(dirname "${BASH_SOURCE[0]}")/../../bench/count-instructions" --build "$build" "$@"
}
fail() {
    echo "count: FAILED: $1"
    exit 1
}
xen=$build/backends/previrt-xen

count --image "$xen" --lines 1000 --save "$work/counts" -- "$build/toolchain/previrt" run --on xen "$guest" </dev/null >"$work/all"
cat "$work/all"
for of in 'Xen$' 'previrt-xen$' 'previrt-xen  xen_start$' 'previrt-xen  site_call_entered$'; do
    grep -qE "^ *[1-9][0-9]*\.0  $of" "$work/all" || fail "nothing was counted of $of"
done
count --without "$work/counts" --per 1000 -- "$build/toolchain/previrt" run --on xen "$guest" </dev/null >"$work/twice"
grep -qE '^ *-?[0-9]+\.[0-9]  Xen$' "$work/twice" || fail 'no difference is told'

refuses() { # MESSAGE ARGUMENT ...
    local message=$1 status=0
    shift
    count "$@" >"$work/out" 2>"$work/error" || status=$?
    [ "$status" -eq 2 ] && grep -q "$message" "$work/error" || fail "status $status, $(cat "$work/error")"
}
refuses 'has run no qemu-system-x86_64' -- true
refuses 'ended with status 1' -- false
refuses 'Not an ELF file' --image "$work/counts" -- true
echo 'count: every function is told apart'
