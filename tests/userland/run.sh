#!/usr/bin/env bash
# run.sh PLACE short|full KERNEL-DIRECTORY BUILD-DIRECTORY [CLASS ...]
# Runs classes of Debian's programs (all of that form, if none is named) in one guest, or with `host` in a chroot of this machine.
# Leaves their verdicts in BUILD-DIRECTORY/tests/userland; a guest's have to be the host's, or differ as differences says.
# PREVIRT_PROCESSORS=N: with N processors, or on the host with at most N.
source "$(dirname "${BASH_SOURCE[0]}")/../linux/common.sh"
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
place=$1 form=$2 kernel=$3 build=$4
shift 4
[[ $place != kvm* ]] || : "${PREVIRT_KVM_KIND:?is not set: start this by $build/tests/machine/needs kvm -- $0 ...}"

field() { # FIELD CLASS: as the class's head says
    sed -n -e '/^[#/]/!q' -e "s/^[#/]* $1: //p" "$here/classes/$2"
}
classes=("$@")
if [ $# -eq 0 ]; then
    for class in "$here/classes"/*; do
        [ "$form" != full ] && [ "$(field form "$(basename "$class")")" = full ] || classes+=("$(basename "$class")")
    done
fi
processors=${PREVIRT_PROCESSORS:-1}
label=$form
[ $# -eq 0 ] || label+=-$(IFS=+ && echo "${classes[*]}")
[ "$processors" = 1 ] || label+=-$processors-processors
verdicts=$build/tests/userland
mkdir -p "$verdicts"

debian=$("$userland/make-debian" "$form")
packages=(busybox-static mount util-linux) directories=() seconds=3000
[ "$form" = full ] || seconds=300
for class in "${classes[@]}"; do
    # shellcheck disable=SC2207
    packages+=($(field packages "$class"))
    # shellcheck disable=SC2207
    [ "$form" != full ] || packages+=($(field full "$class"))
    # shellcheck disable=SC2207
    directories+=($(field directories "$class"))
done
"$userland/debian-files" "$debian" "${packages[@]}" -- "${directories[@]}" >"$work/files"
mkdir -p "$work/own/userland/classes"
install "$here/init" "$work/own/init"
for class in "${classes[@]}"; do install "$here/classes/$class" "$work/own/userland/classes"; done
printf 'form=%s seconds=%s\n' "$form" "$seconds" >"$work/own/userland/settings"

SECONDS=0
if [ "$place" = host ]; then
    root=$work/root
    mkdir "$root"
    (cd "$debian" && cpio --pass-through --quiet --make-directories --preserve-modification-time "$root" <"$work/files" && cp -a "$work/own/." "$root")
    # As in a guest: no descriptor is open but these three, Linux's first limits of them, nothing of the caller's environment.
    for descriptor in /proc/$BASHPID/fd/*; do
        [ "${descriptor##*/}" -le 2 ] || eval "exec ${descriptor##*/}>&-"
    done
    # As many processors as a guest has, and an empty network.
    allowed=$(python3 -c 'import os, sys; print(*sorted(os.sched_getaffinity(0))[-int(sys.argv[1]):], sep=",")' "$processors")
    # shellcheck disable=SC2016
    taskset -c "$allowed" unshare --mount --net --pid --ipc --uts --fork --kill-child --propagation private \
        sh -c 'ulimit -S -n 1024 && ulimit -H -n 4096 && mount -t tmpfs none "$0/dev" && for device in null:1:3 zero:1:5 full:1:7 random:1:8 urandom:1:9 tty:5:0; do
                   IFS=: read -r name major minor <<END
$device
END
                   mknod -m 666 "$0/dev/$name" c "$major" "$minor"
               done && ln -s pts/ptmx "$0/dev/ptmx" && exec env -i PATH="$PATH" chroot "$0" /init chroot' "$root" </dev/null >"$work/console" 2>&1 || true
    cat "$work/console"
else
    (cd "$debian" && cpio --create --format=newc --quiet <"$work/files") >"$work/initrd"
    (cd "$work/own" && find . | cpio --create --format=newc --quiet) >>"$work/initrd"
    memory=4G limit=7000
    [ "$form" = full ] || memory=2G limit=900
    run_guest "$build/toolchain/previrt" "$place" "$kernel/bzImage" --initrd "$work/initrd" --append quiet --memory "$memory" \
        --cpus "$processors" --timeout "$limit"
    [ "$status" -eq 0 ] || echo "userland: the guest ended with status $status"
fi
rm -f "$work/initrd"
echo "userland: $label in $place: $SECONDS s"
grep -a '^= ' "$work/console" | sed 's/ *$//' >"$verdicts/$label.$place" || true
if ! grep -q '^userland: all classes have run' "$work/console"; then
    echo "userland: FAILED: it did not come to its end"
    exit 1
fi
# What differs by KVM's interpreting is not so where it does not.
listed_as=$place
[[ $place != kvm* || $PREVIRT_KVM_KIND = interpreted ]] || listed_as=hardware-$place
[ "$place" = host ] || python3 "$here/compare.py" "$verdicts/$label.host" "$verdicts/$label.$place" "$here/differences" "$listed_as" "$form"
