#!/usr/bin/env bash
# nested.sh PREVIRT
# The machine of `previrt run --on kvm-nested`: Debian's Linux starts with KVM on emulated SVM, the previrt in it finds
# that KVM and refuses what is no guest, and its words and its status come back.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
previrt=$1
# Nothing here is recorded, which only the previrt in the machine looks at.
printf '.globl _start\n_start: hlt\n' | as -o "$work/halt.o" -
ld "$work/halt.o" -o "$work/halt"
status=0
"$previrt" run --on kvm-nested --verbose "$work/halt" </dev/null >"$work/console" 2>"$work/messages" || status=$?
cat "$work/console" "$work/messages"

failed=0
expect() { # WHAT COMMAND ...
    local what=$1
    shift
    "$@" || { echo "nested: FAILED: $what"; failed=1; }
}
said() { grep -v '^(Linux) ' "$work/messages"; }
expect "status $status instead of 2" [ "$status" -eq 2 ]
expect "KVM does not use SVM" grep -q '^(Linux) .*kvm: Nested Paging enabled' "$work/messages"
expect "the kernel's name came not once" [ "$(grep -c '(sha256 ' "$work/messages")" -eq 1 ]
expect "the previrt in the machine did not say why" grep -q 'no records of' <(said | tail -n 1)
expect "the guest's console is not empty" [ ! -s "$work/console" ]
exit "$failed"
