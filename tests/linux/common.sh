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
