# shellcheck shell=sh
# Sourced by a script that is the first process of a machine on this machine's root: /proc, /sys, /dev and a tmpfs; and a console.
mount -t proc none /proc
mount -t sysfs none /sys
grep -q " /dev devtmpfs " /proc/mounts || mount -t devtmpfs none /dev
mkdir -p /dev/shm && mount -t tmpfs none /dev/shm
exec </dev/console >/dev/console 2>&1
