#!/usr/bin/env bash
# The console of a running guest: console.sh ON KERNEL-DIRECTORY PREVIRT.
. "$(dirname "${BASH_SOURCE[0]}")/../common.sh"
on=$1
"$userland/make-initrd" "$work/initrd"
"$here/commands/console.py" "$3" run "$2/bzImage" --on "$on" --initrd "$work/initrd" --append quiet
