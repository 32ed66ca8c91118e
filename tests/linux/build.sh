#!/usr/bin/env bash
# build.sh KERNEL-DIRECTORY PREVIRT BUILD-OPTION ...
# Builds a kernel. What other tests look for, to see whether it is there, has to be there.
set -euo pipefail
kernel=$1 previrt=$2
shift 2
"$previrt" build-linux --output "$kernel" "$@"
[ -x "$kernel/make" ] && [ -s "$kernel/bzImage" ]
