#!/usr/bin/env bash
# container.sh ON KERNEL-DIRECTORY BUILD-DIRECTORY
# In a guest whose root is this machine's, the features of the kernel that container engines call, each by its usual tool.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
on=$1 kernel=$2 build=$3
truncate -s 256M "$work/disk" # to swap to
SECONDS=0
run_guest "$build/toolchain/previrt" "$on" "$kernel/bzImage" --root / --append quiet --memory 1G --disk "$work/disk" \
    --timeout 300 -- \
    "$here/guest/container.sh" "$(realpath "$build")/tests/linux/container" "$(echo "$(realpath "$kernel")"/modules/lib/modules/*/kernel)"
require_right container container 25
echo "container: $SECONDS s"
