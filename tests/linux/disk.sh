#!/usr/bin/env bash
# disk.sh ON KERNEL-DIRECTORY BUILD-DIRECTORY
# A guest's disk: what the guest writes is in the file, in whatever way it writes; a disk with `ro` and one with `snapshot`
# leave the file as it is; lack of space and bytes that are gone on the host are errors in the guest; and when the monitor is
# killed, the file has every write that the guest was told of. On xen-domu, where a boot takes long, one guest has all these
# disks.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
source "$here/disk_common.sh"
on=$1 kernel=$2 build=$3
previrt=$build/toolchain/previrt
disk=$work/disk,comma.img
option=$work/disk,,comma.img
mib=32
[[ $on != @(bare|xen-domu) ]] || mib=2 # there QEMU emulates every instruction
truncate -s ${mib}M "$disk"
options=("$kernel/bzImage" --initrd "$work/initrd" --timeout "${TIMEOUT:-500}" --verbose --append quiet)

blocks=$((mib * 256))

in_one_guest() {
    local blocks=$((mib * 256)) before rights=16 more=()
    for name in first second third; do truncate -s ${mib}M "$work/$name"; done
    python3 - "$work/second" $blocks <<'PYTHON'
import sys
with open(sys.argv[1], "wb") as file:
    for number in range(int(sys.argv[2])):
        file.write(b"block %09d\n" % number * 256)
PYTHON
    before=$(cat "$work/second" "$work/third" | sha256sum)
    local commands="disk check /dev/nvme0n1; disk read-only /dev/nvme1n1; disk check /dev/nvme2n1"
    mkdir "$work/small"
    if mount -t tmpfs -o size=1M none "$work/small" 2>/dev/null; then
        trap 'umount "$work/small"; rm -rf "$work"' EXIT
        truncate -s ${mib}M "$work/small/disk"
        commands+="; disk full /dev/nvme3n1"
        more=(--disk "$work/small/disk")
        rights=18
    fi
    make_program_initrd "$build" disk "$commands"
    run_guest "$previrt" "$on" "${options[@]}" --disk "$work/first" --disk "$work/second,ro" --disk "$work/third,snapshot" "${more[@]}"
    require_right disk disk $rights
    grep -q 'disk: Linux knows that it is read-only' "$work/console" || fail "the disk does not say that it is read-only"
    has_blocks "$work/first" $blocks
    [ "$(cat "$work/second" "$work/third" | sha256sum)" = "$before" ] || fail "a disk with ro or snapshot has changed its file"
    [ $rights -eq 16 ] || grep -q 'small/disk: [0-9]* requests of the guest failed' "$work/messages" || fail "nobody told of the lack of space"
}
in_a_guest_each() {
    step check 7 --disk "$option"
    has_blocks "$disk" $blocks
    before=$(sha256sum <"$disk")
    step read-only 2 --disk "$option,ro"
    # QEMU's controller does not say so: the writes fail.
    [ "$on" = bare ] || grep -q 'disk: Linux knows that it is read-only' "$work/console" || fail "the disk does not say that it is read-only"
    step check 7 --disk "$option,snapshot"
    [ "$(sha256sum <"$disk")" = "$before" ] || fail "a disk with ro or snapshot has changed its file"
    echo "disk: ro and snapshot left the file as it was"

    if [ "$on" != bare ]; then # there, QEMU stops the machine or not as it likes
        # A file system with less space than the disk.
        mkdir "$work/small"
        if mount -t tmpfs -o size=4M none "$work/small" 2>/dev/null; then
            trap 'umount "$work/small"; rm -rf "$work"' EXIT
            truncate -s ${mib}M "$work/small/disk"
            step full 2 --disk "$work/small/disk"
            grep -q 'requests of the guest failed' "$work/messages" || fail "nobody told of the lack of space"
            ! grep -q 'disk: No data available' "$work/console" || fail "the lack of space is an error of the medium"
        fi
        truncate -s ${mib}M "$work/shorter"
        make_program_initrd "$build" disk "disk shorter /dev/nvme0n1"
        : >"$work/console"
        (
            for _ in $(seq 3000); do ! grep -q 'disk: take the end away' "$work/console" || break; sleep 0.1; done
            truncate -s 1M "$work/shorter"
            echo
            sleep 1
        ) | {
            status=0
            isolate=()
            [[ $on != *-isolate ]] || isolate=(--isolate)
            "$previrt" run --on "${on%-isolate}" "${isolate[@]}" "${options[@]}" --disk "$work/shorter" 2>"$work/messages" >"$work/console" ||
                status=$?
            cat "$work/console" "$work/messages"
            [ $status -eq 0 ]
        } || fail "a file that became shorter"
        [ "$(grep -c '^disk: .*: right' "$work/console")" -eq 3 ] || fail "a file that became shorter"
    fi
}
if [ "$on" = xen-domu ]; then in_one_guest; else in_a_guest_each; fi

# Killed in the middle.
make_program_initrd "$build" disk "disk acknowledge /dev/nvme0n1"
acknowledged=(5 50 500)
[[ $on != @(bare|xen-domu) ]] || acknowledged=(50)
for wanted in "${acknowledged[@]}"; do
    rm -f "$disk"
    truncate -s ${mib}M "$disk"
    start_until_acknowledged "$option" "$wanted"
    kill_monitor
    has_blocks "$disk" $((last + 1)) || fail "a write that the guest was told of is lost"
    echo "disk: killed behind block $last: all are there"
done
echo "disk: all passed on $on"
