#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# warning.sh GUEST PREVIRT
# Where a guest's programs can reach their kernel, `previrt run` says so, once and on standard error; not where they
# cannot, nor with --quiet.
set -euo pipefail
guest=$1 previrt=$2
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
ran=0
expect() { # LINES OPTION ...
    local lines=$1 status=0 said
    shift
    "$previrt" run --memory 64M --timeout 60 "$@" "$guest" </dev/null >"$work/output" 2>"$work/errors" || status=$?
    if [ "$status" -eq 2 ] && tail -n 1 "$work/errors" | grep -Eq 'not built|/dev/kvm'; then
        echo "skipped: $*: $(tail -n 1 "$work/errors")"
        return
    fi
    ran=1
    said=$(grep -c "^previrt: warning: the guest's programs can reach their kernel" "$work/errors" || true)
    if [ "$status" -ne 0 ] || [ "$said" -ne "$lines" ] || grep -q previrt "$work/output"; then
        cat "$work/output" "$work/errors"
        echo "FAILED: $*: status $status, $said lines"
        failed=1
    else
        echo "passed: $*: $said lines"
    fi
}
expect 1 --on process
expect 0 --on process --isolate
expect 0 --on process --quiet
[ ! -s "$work/errors" ] || { cat "$work/errors"; echo "FAILED: --quiet says something"; failed=1; }
if ! grep -q svm /proc/cpuinfo && ! grep -q vmx /proc/cpuinfo; then # else KVM keeps the kernel's privileges
    expect 1 --on kvm
    expect 0 --on kvm --quiet
fi
expect 0 --on kvm --isolate
[ "$ran" -ne 0 ] || exit 77
exit "$failed"
