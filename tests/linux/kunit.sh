#!/usr/bin/env bash
# kunit.sh ON KERNEL-DIRECTORY BUILD-DIRECTORY
# The kernel tree's own kunit.py, unchanged, runs the kernel's tests by qemu-system-previrt. It gives bare metal's verdicts,
# and they are good.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
on=$1 kernel=$(realpath "$2") build=$(realpath "$3")
mkdir -p "$work/build/arch/x86/boot"
ln -s "$kernel/bzImage" "$work/build/arch/x86/boot/bzImage"

verdicts() { # ON: into $work/ON
    cat >"$work/previrt.py" <<END
from ..qemu_config import QemuArchParams
QEMU_ARCH = QemuArchParams(linux_arch='x86_64', kconfig='', qemu_arch='previrt', kernel_path='arch/x86/boot/bzImage',
                           kernel_command_line='', extra_qemu_params=['-machine', 'previrt-$1'])
END
    (cd "$(source_of "$kernel")" && PATH=$build/toolchain:$PATH PYTHONDONTWRITEBYTECODE=1 \
        tools/testing/kunit/kunit.py exec --timeout 200 --build_dir "$work/build" --qemu_config "$work/previrt.py") \
        >"$work/said" || { cat "$work/said" "$work/build/test.log"; exit 1; }
    grep -oE '\[(PASSED|FAILED|SKIPPED|CRASHED)\] .*' "$work/said" >"$work/$1"
    grep 'Testing complete' "$work/said"
}
SECONDS=0
verdicts "$on"
echo "kunit: $SECONDS s"
verdicts bare
diff "$work/bare" "$work/$on"
if [ "$(grep -c PASSED "$work/$on")" -lt 200 ] || grep -E 'FAILED|CRASHED' "$work/$on"; then
    echo "kunit: FAILED"
    exit 1
fi
