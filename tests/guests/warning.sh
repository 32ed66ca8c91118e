#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# warning.sh process|kvm GUEST PREVIRT
# Where a guest's programs can reach their kernel, `previrt run` says so, once and on standard error; not where they
# cannot, nor with --quiet.
set -euo pipefail
place=$1 guest=$2 previrt=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
expect() { # LINES OPTION ...
    local lines=$1 status=0 said
    shift
    "$previrt" run --on "$place" --memory 64M --timeout 60 "$@" "$guest" </dev/null >"$work/output" 2>"$work/errors" || status=$?
    said=$(grep -c "^previrt: warning: the guest's programs can reach their kernel" "$work/errors" || true)
    if [ "$status" -ne 0 ] || [ "$said" -ne "$lines" ] || grep -q previrt "$work/output"; then
        cat "$work/output" "$work/errors"
        echo "FAILED: $*: status $status, $said lines"
        failed=1
    else
        echo "passed: $*: $said lines"
    fi
}
# KVM with a processor that virtualizes keeps the kernel's privileges.
reach=1
[ "$place" != kvm ] || [ "$PREVIRT_KVM_KIND" = interpreted ] || reach=0
expect "$reach"
expect 0 --isolate
expect 0 --quiet
[ ! -s "$work/errors" ] || { cat "$work/errors"; echo "FAILED: --quiet says something"; failed=1; }
exit "$failed"
