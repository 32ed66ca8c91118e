# shellcheck shell=bash
# Shared by the tests of this directory. `work` is a directory of the test's own, removed at its end.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
userland=$here/../../toolchain/userland
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Ends the test as skipped where build-linux has not left a kernel in each of these directories.
require_kernels() {
    local directory
    for directory in "$@"; do
        if ! [ -x "$directory/make" ]; then
            echo "skipped: $directory is not built (./check --kernels all builds every kernel)"
            exit 77
        fi
    done
}

# The source that a kernel was built from.
source_of() {
    sed -n "s/.*'-C' '\([^']*\)'.*/\1/p" "$1/make"
}

# Ends the test as skipped where previrt refused to run at all, for what this machine lacks.
skip_if_refused() { # STATUS MESSAGES
    if [ "$1" -eq 2 ] && tail -n 1 "$2" | grep -Eq 'not built|apt-get|/dev/kvm'; then
        echo "skipped: $(tail -n 1 "$2")"
        exit 77
    fi
}

# Runs `previrt run --on ON OPTION ...`, where ON may also be kvm-isolate: kvm with --isolate. Leaves `status`, and in
# $work/console and $work/messages what the guest and previrt said.
run_guest() { # PREVIRT ON OPTION ...
    local previrt=$1 on=$2
    shift 2

    [[ $on != *-isolate ]] || set -- --isolate "$@"
    status=0
    "$previrt" run --on "${on%-isolate}" "$@" </dev/null 2>"$work/messages" | tr -d '\r' >"$work/console" || status=$?
    cat "$work/console" "$work/messages"
    skip_if_refused "$status" "$work/messages"
}
