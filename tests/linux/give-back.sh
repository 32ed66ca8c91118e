#!/usr/bin/env bash
# give-back.sh ON KERNEL-DIRECTORY BUILD-DIRECTORY
# Memory that a guest's programs free returns to this machine, and nothing of what they still use is lost.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
on=$1 kernel=$2 build=$3
make_program_initrd "$build" give_back "give_back 256 32"
isolate=
[[ $on != *-isolate ]] || isolate=--isolate
# shellcheck disable=SC2086 # --isolate, or nothing
"$here/give_back.py" 256 "$build/toolchain/previrt" run --on "${on%-isolate}" $isolate "$kernel/bzImage" --initrd "$work/initrd" \
    --append quiet --memory 512M --timeout 280 2>"$work/messages" | tee "$work/console" || { cat "$work/messages"; exit 1; }
grep -q '^give_back: right' "$work/console" || { echo "give-back: FAILED: a page was lost"; exit 1; }
