#!/usr/bin/env bash
# A Debian root file system with systemd, from a folder or on a disk with ext4: boot.sh ON folder|disk KERNEL-DIRECTORY PREVIRT.
source "$(dirname "${BASH_SOURCE[0]}")/../linux/common.sh"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
on=$1
root=$("$userland/make-debian" boot)
if [ "$2" = disk ]; then
    truncate -s 1G "$work/disk"
    mkfs.ext4 -q -F -d "$root" "$work/disk"
    set -- "$@" --disk "$work/disk" --append 'quiet root=/dev/nvme0n1 rw'
else
    set -- "$@" --root "$root" --append quiet
fi
# A domain of Xen's has no folders.
[ "$on" = xen-domu ] || set -- "$@" --share "$root/opt/packages:packages,ro"
"$here/boot.py" "$4" run "$3/bzImage" --on "$on" --memory 512M "${@:5}"
if [ "$2" = disk ]; then
    e2fsck -fn "$work/disk"
    debugfs -R 'stat /usr/bin/hello' "$work/disk" 2>/dev/null | grep -q 'Type: regular' ||
        { echo "FAILED: the installed program is not on the disk"; exit 1; }
    echo "passed: the file system is whole"
fi
