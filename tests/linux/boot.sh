#!/usr/bin/env bash
# boot.sh ON KERNEL-DIRECTORY BUILD-DIRECTORY [BZIMAGE]
# Boots a kernel on bare metal or on a back-end, runs programs in it, loads its modules, and powers off. A back-end
# must have run the very file that bare metal ran, have treated every record of it, and have met no sensitive
# instruction by a trap. Where a system call would leave the VMM, it must have rewritten some.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
on=$1 kernel=$2 build=$3 image=${4:-$2/bzImage}
previrt=$build/toolchain/previrt
digest=$build/tests/linux/$(basename "$kernel").ran-bare
files=()
# Some modules that need no others. Tests are among the later ones, and take long.
for list in "$kernel"/modules/lib/modules/*/modules.dep; do
    for module in $(awk -F: 'NF == 2 && $2 == "" && ++count <= 16 { print $1 }' "$list"); do
        files+=("/modules/$(basename "$module")=$(dirname "$list")/$module")
    done
done
"$userland/make-initrd" "$work/initrd" /run-me="$here/guest/programs.sh" \
    /bin/operations="$build/bench/operations" /bin/facilities="$build/tests/linux/facilities" "${files[@]}"

options=(--append "quiet ${APPEND:-}")
if [ "$on" = bare ]; then
    # A kernel that cannot measure its time stamp counter, as under emulation, would not let the vDSO read it.
    khz=$(awk '/^cpu MHz/ { printf "%d", $4 * 1000; exit }' /proc/cpuinfo)
    options[1]+=" tsc_early_khz=${khz:-1000000} tsc=reliable"
fi
# KVM's software processor does not look at CR4.TSD (docs/kvm.md), and no process has it (docs/process.md).
if is_interpreted "$on" || [[ $on = process* ]]; then options[1]+=" lacks=rdtsc_denial"; fi
# docs/differences.md, and of Xen it is QEMU's error code.
if is_interpreted "$on"; then options[1]+=" lacks=kvm_vectors"; fi
[[ $on != xen* ]] || options[1]+=" lacks=xen_vectors"
# Of a kernel that has 32-bit programs, facilities/modes.c tries no such call.
if [[ $on = process* ]] && grep -q AuthenticAMD /proc/cpuinfo && ! grep -q '^CONFIG_IA32_EMULATION=y' "$kernel/config"; then
    options[1]+=" lacks=place_of_32_bit_call"
fi
# Intel's processors enter the host's kernel by sysenter, which keeps no return address; not if the host has no 32-bit programs.
if [[ $on = process* ]] && grep -q GenuineIntel /proc/cpuinfo; then options[1]+=" lacks=place_of_sysenter"; fi
if [ "$on" != bare ]; then
    options+=(--stats "$work/stats.json" --verbose)
elif grep -q '^CONFIG_SMP=y' "$kernel/config"; then
    PREVIRT_PROCESSORS=${PREVIRT_PROCESSORS:-2}
fi
run_guest "$previrt" "$on" "$image" --initrd "$work/initrd" --timeout 300 "${options[@]}"
for wanted in 'programs: all passed' "processors: ${PREVIRT_PROCESSORS:-1}" 'clock source: tsc'; do
    grep -q "^$wanted" "$work/console" || { echo "boot: FAILED: no '$wanted'"; exit 1; }
done
[ "$status" -eq 0 ] || { echo "boot: FAILED with status $status"; exit 1; }

ran=$(grep -o 'sha256 [0-9a-f]*' "$work/messages")
if [ "$on" != bare ]; then
    [ "$ran" = "$(cat "$digest")" ] || { echo "boot: FAILED: $ran ran here, $(cat "$digest") bare"; exit 1; }
    checks=()
    if [[ $on == process* ]] || { [ "$on" = kvm ] && is_interpreted kvm; }; then
        checks+=(--system-calls)
    fi
    python3 "$here/check_stats.py" "$work/stats.json" "$kernel/previrt.json" "${checks[@]}"
elif [ "$image" = "$kernel/bzImage" ]; then
    echo "$ran" >"$digest"
fi
