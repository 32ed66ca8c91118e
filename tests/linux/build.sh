#!/usr/bin/env bash
# build.sh GROUP KERNEL-DIRECTORY PREVIRT BUILD-OPTION ...
# Builds a kernel, when the group of kernels asked for (PREVIRT_KERNELS: default, all, none) has it.
set -euo pipefail
group=$1 kernel=$2 previrt=$3
shift 3
wanted=${PREVIRT_KERNELS:-default}
if [ "$wanted" = none ] || { [ "$group" = all ] && [ "$wanted" != all ]; }; then
    echo "skipped: --kernels $wanted leaves out $(basename "$kernel")"
    exit 77
fi
exec "$previrt" build-linux --output "$kernel" "$@"
