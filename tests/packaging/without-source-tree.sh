#!/usr/bin/env bash
# The installed previrt in WORK/prefix, while its source tree is hidden: without-source-tree.sh SOURCE-DIRECTORY WORK
set -euo pipefail
work=$2
cd "$work"
mount -t tmpfs none "$1"
previrt=$work/prefix/bin/previrt
failures=0

expect() { # NAME STATUS PATTERN COMMAND...
    local name=$1 status=$2 pattern=$3 got=0
    shift 3
    "$@" </dev/null >"$work/output" 2>&1 || got=$?
    if [ "$got" -eq "$status" ] && grep -q -e "$pattern" "$work/output"; then
        echo "passed: $name"
    else
        echo "FAILED: $name: status $got"
        cat "$work/output"
        failures=$((failures + 1))
    fi
}

expect "its version" 0 '^[0-9.]*$' "$previrt" --version
expect "what works" 0 '^run --on process' "$previrt" doctor
expect "a command without a kernel's name, in a process" 5 '^as it is$' "$previrt" run --on process --quiet --root / -- sh -c 'echo as it is; exit 5'
expect "the same on kvm" 5 '^as it is$' "$previrt" run --on kvm --quiet --root / -- sh -c 'echo as it is; exit 5'
kernel=$work/prefix/lib/previrt/guest-kernel/bzImage
expect "its audit's records" 0 'iret' "$previrt" sites "$kernel"
expect "a pack for Xen" 0 'xl create' "$previrt" pack --for xen "$kernel" --output "$work/pack"
expect "the same by QEMU's options" 1 'Unable to mount root' "$work/prefix/bin/qemu-system-previrt" -machine previrt-process -m 256 -nographic -kernel "$kernel"
expect "the runtime for containers" 1 'config.json' "$work/prefix/bin/previrt-oci" --root "$work/containers" create --bundle "$work" one
expect "its manual" 0 '^\.TH QEMU-SYSTEM-PREVIRT' cat "$work/prefix/share/man/man1/qemu-system-previrt.1"
expect "the bench is not installed" 2 'source tree' "$previrt" bench process
mv "$work/prefix/lib/previrt/guest-kernel" "$work/no-kernel"
expect "no kernel is installed" 125 'previrt-guest-kernel' "$previrt" run --root / -- true

# Each command has a line in the manual, and is completed.
PATH=$work/prefix/bin:$PATH
# shellcheck disable=SC1091
source "$work/prefix/share/bash-completion/completions/previrt"
COMP_WORDS=(previrt "")
COMP_CWORD=1
_previrt
[ "${#COMPREPLY[@]}" -ge 10 ] || { echo "FAILED: completion knows ${COMPREPLY[*]}"; failures=$((failures + 1)); }
for command in "${COMPREPLY[@]}"; do
    expect "the manual has $command" 0 . grep -E "^\\.BR? .*\\b$command\\b" "$work/prefix/share/man/man1/previrt.1"
done
COMP_WORDS=(previrt run --isol)
COMP_CWORD=2
_previrt
[ "${COMPREPLY[*]}" = --isolate ] || { echo "FAILED: --isol is completed to ${COMPREPLY[*]}"; failures=$((failures + 1)); }
exit $((failures != 0))
