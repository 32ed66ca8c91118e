#!/usr/bin/env bash
# image.sh ON KERNEL-DIRECTORY BUILD-DIRECTORY
# A guest's disk in a qcow2 image, alone and over a backing file: qemu-img finds in it what the guest wrote, and no fault. `ro` and
# `snapshot` leave the image as it is. Lack of space, and a daemon that was killed, are errors in a guest that goes on. A killed
# monitor leaves no daemon, and the image has every write that the guest was told of. Images that name other files, and an image
# that another program has, are refused.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
source "$here/disk_common.sh"
on=$1 kernel=$2 build=$3
previrt=$build/toolchain/previrt
mib=16
[ "$on" != bare ] || mib=2 # there QEMU emulates every instruction
options=("$kernel/bzImage" --initrd "$work/initrd" --timeout "${TIMEOUT:-250}" --verbose --append quiet)

has_all_blocks() { # IMAGE COUNT
    qemu-img check -q "$1" || fail "qemu-img finds faults"
    qemu-img convert -f qcow2 -O raw "$1" "$work/raw"
    has_blocks "$work/raw" "$2"
}
refused() { # MESSAGE OPTION ...
    local message=$1 status=0
    shift
    "$previrt" run --on "${on%-isolate}" "${options[@]}" "$@" </dev/null >"$work/console" 2>"$work/messages" || status=$?
    [ $status -eq 2 ] || fail "status $status, and not 2"
    grep -qF -- "$message" "$work/messages" || fail "no refusal with '$message'"
    echo "image: refused: $(tail -n 1 "$work/messages")"
}
blocks=$((mib * 256))
image=$work/image,comma.qcow2
option=$work/image,,comma.qcow2,format=qcow2

qemu-img create -q -f qcow2 "$image" ${mib}M
step check 7 --disk "$option"
[ "$on" = bare ] || grep -q 'by qemu-storage-daemon from qcow2' "$work/messages" || fail "nobody says who serves the disk"
has_all_blocks "$image" $blocks
before=$(sha256sum <"$image")
step read-only 2 --disk "$option,ro"
step check 7 --disk "$option,snapshot"
[ "$(sha256sum <"$image")" = "$before" ] || fail "a disk with ro or snapshot has changed its image"
echo "image: ro and snapshot left the image as it was"

cp "$image" "$work/base"
qemu-img create -q -f qcow2 -b "$work/base" -F qcow2 "$work/over"
refused "it names a backing file, '$work/base'" --disk "$work/over,format=qcow2"
step read-only 2 --disk "$work/over,format=qcow2,ro,backing=$work/base,backing-format=qcow2"
step check 7 --disk "$work/over,format=qcow2,backing=$work/base,backing-format=qcow2"
cmp "$image" "$work/base" || fail "the backing file has changed"
has_all_blocks "$work/over" $blocks

qemu-img create -q -f qcow2 -o data_file="$work/data" "$work/apart" 1M
refused "previrt opens no file that only an image names" --disk "$work/apart,format=qcow2"
refused "Image is not in qcow2 format" --disk "$work/data,format=qcow2"
refused "No such file or directory" --disk "$work/missing,format=qcow2"
refused "with ,format=qcow2 the guest gets the disk in it" --disk "${option%,*}"
qemu-io -f qcow2 -c 'sleep 20000' "$image" >/dev/null &
other=$!
for _ in $(seq 100); do
    qemu-img info "$image" >/dev/null 2>&1 || break
    sleep 0.05
done
refused "another guest has it" --disk "$option"
kill $other
wait $other 2>/dev/null || true
[ "$on" != bare ] || { echo "image: all passed on $on"; exit 0; } # there, QEMU stops the machine or not as it likes

# A file system with less space than the disk.
mkdir "$work/small"
if mount -t tmpfs -o size=4M none "$work/small" 2>/dev/null; then
    trap 'umount "$work/small"; rm -rf "$work"' EXIT
    qemu-img create -q -f qcow2 "$work/small/disk" ${mib}M
    step full 2 --disk "$work/small/disk,format=qcow2"
    grep -q 'requests of the guest failed; the first, a write at byte .*: No space left' "$work/messages" ||
        fail "nobody told of the lack of space"
fi

# The guest writes. Its daemon is in `daemon`.
start() { # IMAGE-OPTION WANTED
    start_until_acknowledged "$@"
    # The monitor's child.
    daemon=$(ps -e -o pid=,ppid=,comm= | awk -v top=$process '
        { parent[$1] = $2; name[$1] = $3 }
        END { for (p in name) if (name[p] ~ /^qemu-storage-da/) for (q = p; q > 1; q = parent[q]) if (q == top) print p }')
    [ -n "$daemon" ] || fail "there is no daemon"
}
make_program_initrd "$build" disk "disk acknowledge /dev/nvme0n1
echo disk: the guest goes on"
for wanted in 5 200; do
    rm -f "$image"
    qemu-img create -q -f qcow2 "$image" ${mib}M
    start "$option" $wanted
    kill_monitor
    for _ in $(seq 200); do # one that nobody has waited for runs no program
        readlink "/proc/$daemon/exe" >/dev/null || break
        sleep 0.05
    done
    ! readlink "/proc/$daemon/exe" || fail "a killed monitor leaves its daemon behind"
    has_all_blocks "$image" $((last + 1)) || fail "a write that the guest was told of is lost"
    echo "image: killed behind block $last: all are there"
done

rm -f "$image"
qemu-img create -q -f qcow2 "$image" ${mib}M
start "$option" 5
kill -KILL "$daemon"
status=0
wait $process || status=$?
cat "$work/console" "$work/messages"
[ $status -eq 0 ] || fail "status $status behind a killed daemon"
grep -q 'disk: the guest goes on' "$work/console" || fail "the guest does not go on"
[ "$(grep -c 'qemu-storage-daemon serves the image no more: signal Killed' "$work/messages")" -eq 1 ] || fail "nobody told of the killed daemon"
echo "image: all passed on $on"
