#!/usr/bin/env bash
# selftests.sh PREVIRT KERNEL-DIRECTORY ON:BZIMAGE ON:BZIMAGE [64|32]
# Builds tools/testing/selftests/x86 of the kernel's source and runs it on both: the verdicts must be the same, but
# for the differences listed here. PREVIRT_VERDICTS: a file that keeps the first verdicts for further runs.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
previrt=$1 kernel=$2 reference=$3 tested=$4 bits=${5:-64}

# Of a run on Xen against one on bare metal, as diff shows them.
known_differences() { # ON
    [ "$bits" = 64 ] || { known_differences_of_32_bits; return; }
    ! is_interpreted "$1" || grep -v '^#' <<'DIFFERENCES'
# Selectors in DS, ES, FS and GS are lost when KVM itself has run.
< verdict fsgsbase_64 0
> verdict fsgsbase_64 1
> verdict fsgsbase_64: 1 x [FAIL]	GS is not prepared with nonzero
< verdict fsgsbase_64: 1 x [OK]	GS remained N and GSBASE changed to N
DIFFERENCES
    [[ $1 != xen* && $1 != process ]] || grep -v '^#' <<'DIFFERENCES'
# Their iret to a stack of 16 bits leaves bits 16 to 31 of ESP their own. XenoLinux refuses segments of 16 bits for it.
< verdict sigreturn_64 0
> verdict sigreturn_64 1
> verdict sigreturn_64: 3 x [FAIL]	SP mismatch: requested N; got N
< verdict sigreturn_64: 8 x [OK]	all registers okay
> verdict sigreturn_64: 5 x [OK]	all registers okay
DIFFERENCES
    [[ $1 != process ]] || grep -v '^#' <<'DIFFERENCES'
# It wants a page at the end of the first 128 TiB: user mode has 64.
< verdict sysret_rip_64 0
> verdict sysret_rip_64 1
< verdict sysret_rip_64: 2 x [OK]	We survived
< verdict sysret_rip_64: 33 x [OK]	mremap to N failed
DIFFERENCES
}

# In a process. Its iret to a stack of 16 bits as above; TCG's fails by a value of another register. AMD's processors do not
# know `sysenter` in long mode, and TCG does. test_syscall_vdso leads TCG to a fault of the kernel.
known_differences_of_32_bits() {
    cat <<'DIFFERENCES'
< verdict sigreturn_32: 1 x [FAIL]	Reg N mismatch: requested N; got N
> verdict sigreturn_32: 2 x [FAIL]	SP mismatch: requested N; got N
< verdict sigreturn_32: 5 x [OK]	all registers okay
> verdict sigreturn_32: 4 x [OK]	all registers okay
DIFFERENCES
    ! grep -q AuthenticAMD /proc/cpuinfo || cat <<'DIFFERENCES'
< verdict syscall_arg_fault_32: 4 x [OK]	Seems okay
> verdict syscall_arg_fault_32: 2 x [OK]	Seems okay
> verdict syscall_arg_fault_32: 2 x [SKIP]	Illegal instruction
DIFFERENCES
    cat <<'DIFFERENCES'
> verdict test_syscall_vdso_32 0
> verdict test_syscall_vdso_32: 4 x [OK]	Arguments are preserved across syscall
> verdict test_syscall_vdso_32: 4 x [OK]	RN..RN did not leak kernel data
DIFFERENCES
}

source=$(source_of "$kernel")/tools/testing/selftests/x86
[ -d "$source" ] || { echo "no selftests in $source"; exit 1; }
# Not sysret_ss_attrs: it hangs under QEMU 7.2 on every kernel, by a far return into 32-bit code.
tests="sigreturn fsgsbase syscall_nt ldt_gdt single_step_syscall sysret_rip syscall_numbering check_initial_reg_state iopl ioperm
    test_vsyscall mov_ss_trap syscall_arg_fault fsgsbase_restore sigaltstack test_mremap_vdso corrupt_xstate_header"
alone= # on the tested place alone
if [ "$bits" = 32 ]; then
    tests="single_step_syscall syscall_nt test_mremap_vdso check_initial_reg_state sigreturn iopl ioperm test_vsyscall mov_ss_trap
        sigtrap_loop syscall_arg_fault fsgsbase_restore sigaltstack entry_from_vm86 unwind_vdso test_FCMOV test_FCOMI
        test_FISTTP vdso_restorer ldt_gdt ptrace_syscall"
    alone=test_syscall_vdso
fi
line_buffered=$work/line_buffered.o
# Debian's gcc finds headers of 32 bits by itself only with gcc-multilib.
headers=(-idirafter "/usr/include/$(gcc-12 -print-multiarch)")
gcc-12 "-m$bits" "${headers[@]}" -O2 -Wall -Wextra -Werror -c "$here/guest/line_buffered.c" -o "$line_buffered"
build() { # NAME, to $work/NAME
    local more=()
    case $1 in
    check_initial_reg_state) more=(-Wl,-ereal_start) ;;
    test_syscall_vdso) more=("$source/thunks_32.S") ;;
    ptrace_syscall) more=("$source/raw_syscall_helper_32.S") ;;
    esac
    gcc-12 "-m$bits" "${headers[@]}" -O2 -std=gnu99 -pthread -no-pie -static -w -I"$source" -I"$source/.." -o "$work/$1" \
        "$source/$1.c" "$line_buffered" "${more[@]}" -lm 2>"$work/errors" || { cat "$work/errors"; exit 1; }
}

all=$tests
left_out=
leave_out() { # NAMES, with | between, and WHY
    left_out+="; left out: ${1//|/, } ($2)"
    tests=$(tr -s ' \n' '\n' <<<"$tests" | grep -vxE "$1")
}
on=${tested%%:*}
if is_interpreted "$on"; then
    leave_out sigreturn "no code of a local descriptor table: docs/kvm.md"
    leave_out ldt_gdt "programs have no local descriptors: docs/kvm.md"
    leave_out syscall_nt "an interrupt or a page fault loses NT: docs/kvm.md"
fi
[[ $on != process* ]] ||
    leave_out test_vsyscall "its clock and its processor's number are the host's: docs/process.md"
if [[ $on = process* ]] && grep -q GenuineIntel /proc/cpuinfo; then
    leave_out syscall_arg_fault "sysenter leads to the host's kernel: docs/differences.md"
fi
# A guest's programs run on the processor that we have. Some virtual machines repeat ICEBP behind MOV SS for ever. TCG does not
# hold a breakpoint back from MOV SS until behind SYSCALL, and the signal finds no stack; processors do.
case $tested in
kvm* | process*)
    build mov_ss_trap
    status=0
    timeout 5 "$work/mov_ss_trap" >/dev/null || status=$?
    case $status in
    124) leave_out mov_ss_trap "it does not end on this machine itself either" ;;
    0) leave_out mov_ss_trap "it succeeds on this machine itself, and not under QEMU's TCG" ;;
    esac
    ;;
esac

run() { # ON:BZIMAGE NAME TESTS
    local name files=()
    for name in $3; do
        [ -e "$work/$name" ] || build "$name"
        files+=("/selftests/${name}_$bits=$work/$name")
    done
    "$userland/make-initrd" "$work/initrd" /run-me="$here/guest/selftests.sh" "${files[@]}"
    run_guest "$previrt" "${1%%:*}" "${1#*:}" --initrd "$work/initrd" --append "quiet nokaslr" --timeout 600
    [ "$status" -eq 0 ] || { echo "selftests: FAILED on $1 with status $status"; exit 1; }
    # iret may clear a null selector, sysret keeps it: which of them returns is not the guest's to choose.
    # sigaltstack tries a stack that is too small only where the vector registers fill more than the smallest stack.
    grep '^verdict' "$work/console" | grep -v "^verdict sigaltstack_$bits: 1 x .*SIGSEGV signal delivered" |
        sed 's/changed from N\/N to N\/N because IRET is defective/remained N\/N/' |
        awk '/GS\/BASE remained/ { all += $3; next } { print } END { if (all) print "verdict fsgsbase_64: " all " x [OK] GS/BASE" }' \
        >"$work/verdicts.$2"
}
if [ -z "${PREVIRT_VERDICTS:-}" ]; then
    run "$reference" reference "$tests"
elif [ ! -s "$PREVIRT_VERDICTS" ]; then
    run "$reference" kept "$all"
    mv "$work/verdicts.kept" "$PREVIRT_VERDICTS"
fi
[ -z "${PREVIRT_VERDICTS:-}" ] || # of the tests that are not left out
    awk -v tests="$(tr -s ' \n' '\n\n' <<<"$tests")" -v bits="$bits" 'BEGIN { split(tests, names, "\n"); for (i in names) wanted[names[i] "_" bits] }
        { name = $2; sub(":$", "", name) } name in wanted || name == "kernel-log"' "$PREVIRT_VERDICTS" >"$work/verdicts.reference"
run "$tested" tested "$tests $alone"
for name in $tests $alone; do
    grep -q "^verdict ${name}_$bits " "$work/verdicts.tested" || { echo "no verdict of $name"; exit 1; }
done
# Two kernels that fail alike would agree as well.
for name in $(grep -xE "fsgsbase|syscall_nt" <(tr -s " \n" "\n" <<<"$tests")); do
    grep -q "^verdict ${name}_$bits 0$" "$work/verdicts.reference" || { echo "$name fails on $reference"; exit 1; }
done
known_differences "${tested%%:*}" >"$work/known" || true
diff "$work/verdicts.reference" "$work/verdicts.tested" | grep '^[<>]' >"$work/differences" || true
if ! diff "$work/known" "$work/differences"; then
    echo "selftests: FAILED: the verdicts on $tested differ (> is new, < is known and did not occur)"
    exit 1
fi
echo "selftests: $(wc -l <"$work/verdicts.reference") verdicts on $tested as on $reference," \
    "but for $(wc -l <"$work/known") known differences$left_out"
