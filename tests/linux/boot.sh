#!/usr/bin/env bash
# boot.sh KERNEL-DIRECTORY PREVIRT OPERATIONS [BZIMAGE]
# Boots a kernel on bare metal, runs programs in it, loads its modules, and powers off.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
kernel=$1 previrt=$2 operations=$3 image=${4:-$1/bzImage}
require_kernels "$kernel"
modules=$(find "$kernel/modules/lib/modules" -name '*.ko' | head -n 20)
files=()
for module in $modules; do
    files+=("/modules/$(basename "$module")=$module")
done
"$userland/make-initrd" "$work/initrd" /run-me="$here/guest/programs.sh" \
    /bin/operations="$operations" "${files[@]}"
cpus=1
if grep -q '^CONFIG_SMP=y' "$kernel/config"; then cpus=2; fi
status=0
"$previrt" run --on bare "$image" --initrd "$work/initrd" --append "quiet ${APPEND:-}" --cpus "$cpus" \
    --timeout 300 </dev/null | tee "$work/console" || status=$?
if [ "$status" -ne 0 ] || ! grep -q "programs: all passed" "$work/console" || ! grep -q "processors: $cpus" "$work/console"; then
    echo "boot: FAILED with status $status"
    exit 1
fi
