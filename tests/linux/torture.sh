#!/usr/bin/env bash
# torture.sh ON KERNEL-DIRECTORY PREVIRT PROCESSORS [SECONDS]
# Linux's own torture tests of RCU and of its locks, SECONDS each, in a guest with several processors: threads read and write on all of
# them while they are moved from one to another, and while processors go and come. Linux judges itself, and complains of nothing.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
on=$1 kernel=$2 previrt=$3 processors=$4 seconds=${5:-3}
isolate=()
[[ $on != *-isolate ]] || isolate=(--isolate)
source=$(source_of "$kernel")

# A kernel that is built without them exports all that they use but one function.
mkdir "$work/modules"
cp "$source"/kernel/torture.c "$source"/kernel/locking/locktorture.c "$source"/kernel/rcu/rcutorture.c "$source"/kernel/rcu/rcu.h "$work/modules"
echo '#define rcutorture_sched_setaffinity(process, mask) set_cpus_allowed_ptr(current, mask)' >"$work/modules/affinity.h"
cat >"$work/modules/Makefile" <<'END'
obj-m := torture.o locktorture.o rcutorture.o
ccflags-y := -I$(srctree)/kernel -include $(src)/affinity.h
END
"$kernel/make" M="$work/modules" modules >"$work/log" 2>&1 || { tail -n 20 "$work/log"; exit 1; }

cat >"$work/guest.sh" <<'END'
folder=$1 seconds=$2
PATH=$PATH:/usr/sbin:/sbin
cd "$folder/modules"
insmod torture.ko
go_and_come="onoff_interval=1 onoff_holdoff=1"
run() { # NAME MODULE OPTION...
    name=$1 module=$2
    shift 2
    insmod "$module.ko" stat_interval=15 shuffle_interval=1 $go_and_come "$@" || echo "$name does not begin"
    sleep "$seconds"
    rmmod "$module"
}
run rcu rcutorture
for lock in spin_lock_irq rw_lock_irq mutex_lock rwsem_lock; do run "$lock" locktorture "torture_type=$lock"; done
dmesg | grep -o '[a-z_]*-torture:--- End of test.*: [A-Z_]*:' | sed 's/^/torture: /'
if dmesg | grep -v 'torture:---' | grep -E 'BUG:|WARNING: CPU|Oops|stall|soft lockup|hung|torture.*!!!|Call Trace'; then
    exit 1
fi
echo "the kernel complains of nothing"
END

status=0
if [[ $on = @(kvm-nested|xen*) ]]; then # they have no folders, and are emulated: each processor would measure its speed for seconds
    printf '#!/bin/sh\nsh /guest.sh / %s\n' "$seconds" >"$work/run-me"
    chmod +x "$work/run-me"
    modules=()
    for module in "$work"/modules/*.ko; do modules+=("/modules/${module##*/}=$module"); done
    "$userland/make-initrd" "$work/initrd" /run-me="$work/run-me" /guest.sh="$work/guest.sh" "${modules[@]}"
    run_guest "$previrt" "$on" "$kernel/bzImage" --cpus "$processors" --memory 512M --timeout $((1200 + 10 * seconds)) \
        --append "quiet lpj=4000000" --initrd "$work/initrd" >"$work/said"
    grep -q '^run-me: status 0' "$work/said" || status=1
else
    timeout $((600 + 10 * seconds)) "$previrt" run "$kernel/bzImage" --on "${on%-isolate}" "${isolate[@]}" --cpus "$processors" \
        --memory 512M --root / --share "$work" -- sh "$work/guest.sh" "$work" "$seconds" </dev/null >"$work/said" 2>&1 || status=$?
fi
cat "$work/said"
[ "$(grep -c '^torture: .*SUCCESS:$' "$work/said")" -eq 5 ] && grep -qx "the kernel complains of nothing" "$work/said" && [ "$status" -eq 0 ] || {
    echo "torture: FAILED: status $status"
    exit 1
}
