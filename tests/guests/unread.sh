#!/usr/bin/env bash
# SPDX-License-Identifier: BSD-2-Clause
# unread.sh PLACE GUEST PREVIRT
# Output that cannot be written (a full disk) is counted in a message, and the status is 1. A reader that has gone is no
# failure.
set -euo pipefail
place=$1 guest=$2 previrt=$3
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
failed=0
expect() { # NAME STATUS WANTED
    cat "$work/errors"
    [ "$2" -eq "$3" ] || { echo "FAILED: $1: status $2 instead of $3"; failed=1; }
}
run=("$previrt" run --on "$place" --memory 64M --timeout 60 --quiet "$guest")
status=0
"${run[@]}" </dev/null >/dev/full 2>"$work/errors" || status=$?
expect 'a full disk' "$status" 1
grep -q 'No space left on device' "$work/errors" || { echo 'FAILED: a full disk: it is not said'; failed=1; }
# `true` reads nothing; the pipe is closed before the guest prints.
mkfifo "$work/pipe"
true <"$work/pipe" &
exec 3>"$work/pipe"
wait
status=0
"${run[@]}" </dev/null >&3 2>"$work/errors" || status=$?
expect 'a reader that has gone' "$status" 0
exit "$failed"
