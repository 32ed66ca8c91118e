#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# needs.sh NEEDS
# What skips a test: a machine that lacks something, and neither the test itself nor a need that nobody knows.
set -euo pipefail
needs=$1
failed=0
expect() { # STATUS TEXT ARGUMENT ...
    local wanted=$1 text=$2 status=0
    shift 2
    output=$("$needs" "$@" 2>&1) || status=$?
    if [ "$status" -ne "$wanted" ] || [[ $output != *"$text"* ]]; then
        echo "FAILED: needs $*: status $status instead of $wanted, or not '$text': $output"
        failed=1
    fi
}
expect 0 'it ran' -- echo it ran
expect 0 'it ran' program:sh processors:1 can:true -- echo it ran
expect 3 '' -- sh -c 'exit 3'
expect 1 'the status that skips one' -- sh -c 'exit 77'
expect 137 'signal 9' -- sh -c 'kill -KILL $$'
expect 77 'skipped: this machine has no no-such-program' program:sh program:no-such-program -- echo it ran
expect 77 "skipped: this machine refuses 'false'" can:false -- echo it ran
expect 77 'skipped: /no/kernel is not built' kernel:/no/kernel -- echo it ran
PREVIRT_KERNELS=none expect 77 'skipped: --kernels none leaves it out' kernels:default -- echo it ran
PREVIRT_KERNELS=default expect 77 'skipped: --kernels default leaves it out' kernels:all -- echo it ran
PREVIRT_KERNELS=default expect 0 'it ran' kernels:default -- echo it ran
PREVIRT_KERNELS=all expect 0 'it ran' kernels:default kernels:all -- echo it ran
expect 1 'no test can need that' luck -- echo it ran
expect 1 'a need must not ask previrt' 'can:previrt doctor' -- echo it ran
expect 2 'usage: ' can:true
exit "$failed"
