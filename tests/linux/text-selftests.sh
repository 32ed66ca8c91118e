#!/usr/bin/env bash
# text-selftests.sh ON KERNEL-DIRECTORY BUILD-DIRECTORY short|long|PART...
# Linux's own tests of the code that it patches, copies and generates, in one initrd for all places: ftrace with its probes, live
# patches, static keys, the JIT of BPF. The verdicts are those of the same kernel on bare metal, which text-verdicts-VERSION
# holds. PART is ftrace, livepatch, bpf, static_keys, or a file or folder of the first two, such as ftrace/kprobe.
# With PREVIRT_RECORD=FILE the verdicts go to FILE, and are not compared.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
on=$1 kernel=$2 build=$3
shift 3
parts=("$@")
case $* in
short) parts=(ftrace/kprobe ftrace/dynevent ftrace/ftrace/fgraph-filter.tc livepatch/test-livepatch.sh livepatch/test-ftrace.sh static_keys) ;;
long) parts=(ftrace livepatch static_keys bpf) ;;
esac
source=$(source_of "$kernel")

# The samples that ftrace's tests load: a configuration need not have them.
mkdir "$work/samples"
cp "$source"/samples/ftrace/ftrace-direct{,-too}.c "$source"/samples/trace_printk/trace-printk.c "$work/samples"
echo 'obj-m := ftrace-direct.o ftrace-direct-too.o trace-printk.o' >"$work/samples/Makefile"
"$kernel/make" M="$work/samples" modules >"$work/log" 2>&1 || { tail -n 20 "$work/log"; exit 1; }
release=$(basename "$kernel"/modules/lib/modules/*)
modules=$work/modules/lib/modules/$release
mkdir -p "$modules"
cp "$kernel/modules/lib/modules/$release"/modules.{order,builtin,builtin.modinfo} "$modules"
find "$kernel/modules" "$work/samples" \( -name 'test_static_key*.ko' -o -name test_bpf.ko -o -name 'test_klp_*.ko' -o \
    -path "$work/samples/*.ko" \) -exec cp {} "$modules" \;
PATH=$PATH:/usr/sbin:/sbin
depmod -b "$work/modules" "$release"

# Programs that the tests need beside busybox, with their libraries.
files=()
for program in bash awk chrt comm cut diff dmesg grep mktemp sed stat sysctl modprobe modinfo rmmod; do
    path=$(command -v "$program")
    files+=("/gnu/$program=$path")
    for library in $(ldd "$path" | grep -o '/[^ ]*'); do
        files+=("$library=$library")
    done
done
mapfile -t files < <(printf '%s\n' "${files[@]}" | sort -u)
printf '%s\n' "${parts[@]}" >"$work/parts"
"$userland/make-initrd" "$work/initrd" /run-me="$here/guest/text_selftests.sh" /parts="$work/parts" \
    "/lib/modules/$release=$modules" "${files[@]}" \
    $(for name in ftrace livepatch static_keys; do echo "/selftests/$name=$source/tools/testing/selftests/$name"; done)

SECONDS=0
run_guest "$build/toolchain/previrt" "$on" "$kernel/bzImage" --initrd "$work/initrd" --memory 512M --append quiet \
    --timeout "${PREVIRT_TIMEOUT:-900}"
grep '^verdict ' "$work/console" | LC_ALL=C sort >"$work/verdicts" || true
echo "text-selftests: $(wc -l <"$work/verdicts") verdicts on $on in $SECONDS s"
grep -q '^run-me: status 0' "$work/console" || { echo "text-selftests: FAILED with status $status"; exit 1; }
if [ -n "${PREVIRT_RECORD:-}" ]; then
    cp "$work/verdicts" "$PREVIRT_RECORD"
    exit
fi
bare=$here/text-verdicts-$(cut -d . -f 1,2 <<<"$release")
grep -E "^verdict (kernel log|$(IFS='|'; echo "${parts[*]}"))[/:]" "$bare" >"$work/expected"
if ! diff "$work/expected" "$work/verdicts"; then
    echo "text-selftests: FAILED: the verdicts on $on differ (< is bare metal's)"
    exit 1
fi
