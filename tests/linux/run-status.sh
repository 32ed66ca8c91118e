#!/usr/bin/env bash
# run-status.sh ON KERNEL-DIRECTORY PREVIRT
# How `previrt run` ends: 0 for power-off and reboot, 1 for panic, reset and a signal, 124 for a timeout. At a panic
# the VMM, where there is one, tells what it knows of the guest.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
on=$1 kernel=$2/bzImage previrt=$3
make_initrd() { # NAME COMMAND
    printf '#!/bin/sh\n%s\n' "$2" >"$work/run-me"
    chmod +x "$work/run-me"
    "$userland/make-initrd" "$work/$1" /run-me="$work/run-me"
}
"$userland/make-initrd" "$work/shell"
make_initrd poweroff true
make_initrd reboot 'reboot -f'
make_initrd panic 'echo c >/proc/sysrq-trigger'

failed=0
messages=quiet
expect() { # NAME STATUS TEXT OPTION ...
    local name=$1 wanted=$2 text=$3 status=0
    shift 3
    "$previrt" run --on "$on" "$kernel" --append "$messages" "$@" >"$work/output" 2>&1 || status=$?
    if [ "$status" -ne "$wanted" ] || ! grep -q "$text" "$work/output"; then
        cat "$work/output"
        echo "FAILED: $name: status $status instead of $wanted, or not '$text'"
        failed=1
    else
        echo "passed: $name: status $status"
    fi
}
expect power-off 0 'System halted' --initrd "$work/poweroff" </dev/null
expect reboot 0 'Restarting system' --initrd "$work/reboot" </dev/null
expect panic 1 'the guest failed: Kernel panic - not syncing: sysrq' --initrd "$work/panic" </dev/null
if [ "$on" != bare ]; then
    kernel_begins=ffffffff8
    [ "$on" != process ] || kernel_begins=000000007
    lines=('^previrt-vmm: the guest.s kernel panicked; what it did last:$' "^previrt-vmm:   rip $kernel_begins"
        '^Kernel panic - not syncing: sysrq')
    # Under KVM a system call is too quick to be noted, or none of the VMM's business.
    [[ $on != xen* ]] || lines+=('^previrt-vmm:   system call [0-9a-f]* 1$')
    for wanted in "${lines[@]}"; do
        tr -d '\r' <"$work/output" | grep -q "$wanted" || { echo "FAILED: panic: no line '$wanted'"; failed=1; }
    done
fi
expect no-init 1 'the guest failed: Kernel panic - not syncing: ' </dev/null
expect timeout 124 'did not end within 3 s' --initrd "$work/shell" --timeout 3 </dev/null
# On a busy machine Linux starts for longer than previrt keeps typed input back in silence, and Linux drops what comes before the shell.
type_at_prompt() { # LINE ...
    until grep -aqs 'previrt# ' "$work/output"; do sleep 0.2; done
    printf '%s\n' "$@"
}
rm -f "$work/output"
messages=loglevel=7
expect keys 0 '^42 is' --initrd "$work/shell" --timeout 200 < <(type_at_prompt 'echo $((6 * 7)) is' 'sleep 1' 'exit')

"$previrt" run --on "$on" "$kernel" --append quiet --initrd "$work/shell" </dev/null >"$work/started" 2>&1 &
process=$!
machine=
if [ "$on" != kvm ] && [ "$on" != process ]; then
    # The monitor is a child of the process that was started, and QEMU the monitor's.
    until machine=$(pgrep -P "$(pgrep -d , -P "$process")" qemu 2>/dev/null); do
        kill -0 "$process"
        sleep 0.2
    done
fi
until grep -aq 'ends the guest' "$work/started"; do
    kill -0 "$process"
    sleep 0.2
done
kill -TERM "$process"
status=0
wait "$process" || status=$?
if [ "$status" -ne 1 ] || { [ -n "$machine" ] && kill -0 "$machine" 2>/dev/null; }; then
    echo "FAILED: signal: status $status, or QEMU is still there"
    failed=1
fi
exit "$failed"
