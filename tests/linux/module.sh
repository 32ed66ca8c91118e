#!/usr/bin/env bash
# module.sh ON KERNEL-DIRECTORY PREVIRT
# Modules: prepared ones load, go, and make room for each other; one that was not prepared, one of another version of the
# records, and one whose records are damaged are refused with an error that names them, and the guest lives. Where no
# in-place VMM looks, all of them load, as on any Linux.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
on=$1 kernel=$2 previrt=$3
for name in prepared other unprepared siteless; do
    mkdir "$work/$name"
    source=$name
    [ "$name" != unprepared ] || source=prepared
    cp "$here/guest/modules/$source.c" "$work/$name/$name.c"
    echo "obj-m := $name.o" >"$work/$name/Makefile"
    variables=()
    # Assembled as it comes: neither padded nor recorded, and without the note.
    [[ $name != @(unprepared|siteless) ]] || variables+=(KCFLAGS= KAFLAGS=)
    "$kernel/make" M="$work/$name" "${variables[@]}" modules >"$work/log" 2>&1 || { tail -n 20 "$work/log"; exit 1; }
done
python3 "$here/damage_module.py" "$work/prepared/prepared.ko" "$work/damaged.ko" records
python3 "$here/damage_module.py" "$work/prepared/prepared.ko" "$work/version.ko" version
"$userland/make-initrd" "$work/initrd" /run-me="$here/guest/modules/run.sh" /damaged.ko="$work/damaged.ko" \
    /version.ko="$work/version.ko" /prepared.ko="$work/prepared/prepared.ko" /other.ko="$work/other/other.ko" \
    /unprepared.ko="$work/unprepared/unprepared.ko" /siteless.ko="$work/siteless/siteless.ko"
judge=refused
[ "$on" != bare ] || judge=loaded
run_guest "$previrt" "$on" "$kernel/bzImage" --initrd "$work/initrd" --append "quiet judge=$judge" --timeout 200
grep -q '^modules: all passed' "$work/console" || { echo "module: FAILED"; exit 1; }
exit "$status"
