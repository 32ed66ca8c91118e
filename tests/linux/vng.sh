#!/usr/bin/env bash
# vng.sh ON KERNEL-DIRECTORY BUILD-DIRECTORY
# virtme-ng of PyPI, unchanged, runs commands by qemu-system-previrt as by another QEMU: in a guest whose root is this machine's,
# with their streams, directory and status. Then the same by a vhost-user server, as it uses one where there is virtiofsd of
# Rust: this machine's takes other options, so the test starts it.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
on=$1 kernel=$(realpath "$2") build=$(realpath "$3")
virtme=$cache/pypi/virtme-ng==1.42
qemu=$build/toolchain/qemu-system-previrt

failed() {
    echo "vng: FAILED: $1"
    head -n 30 "$work/output" "$work/errors" 2>/dev/null
    exit 1
}
# Leaves `status`, and what the command wrote in $work/output and $work/errors. `slow`: seconds before anything is read.
vng() { # OPTION ... -- COMMAND
    status=0
    PATH=$virtme/bin:$PATH PYTHONPATH=$virtme PYTHONDONTWRITEBYTECODE=1 timeout 60 vng --qemu "$qemu" --force-9p \
        --disable-kvm --cpus 1 --qemu-opts="-machine previrt-$on" --run "$kernel/bzImage" "$@" \
        2>"$work/errors" | { sleep "${slow:-0}" && cat >"$work/output"; } || status=$?
}

mkdir "$work/directory" "$work/written"
cd "$work/directory"
vng --rwdir "$work/written" -- "
    uname -r; pwd; cat; echo 'to stderr' >&2
    touch '$work/directory/of-the-guest' && ls
    touch /of-the-guest || echo 'its root is read-only'
    echo 'from the guest' >'$work/written/file'
    exit 7" <<<"typed here"
release=$(strings "$kernel/bzImage" | sed -n 's/^\([0-9.]*-previrt-container\) .*/\1/p' | head -n 1)
[ "$status" -eq 7 ] || failed "status $status, not 7"
diff "$work/output" - <<END || failed "its output is another"
$release
$work/directory
typed here
of-the-guest
its root is read-only
END
grep -qx 'to stderr' "$work/errors" || failed "nothing came by standard error"
[ -z "$(ls "$work/directory")" ] && [ ! -e /of-the-guest ] || failed "the guest has changed this machine's files"
[ "$(cat "$work/written/file")" = "from the guest" ] || failed "nothing was written to a folder of --rwdir"

# More than rings and pipes hold: the rest is still in the guest's queue when it ends.
slow=8 vng -- seq 95000 </dev/null
[ "$status" -eq 0 ] || failed "status $status, not 0"
diff -q "$work/output" <(seq 95000) || failed "output is lost"

/usr/lib/qemu/virtiofsd --socket-path="$work/socket" -o source=/ -o cache=always -o sandbox=chroot 2>"$work/errors" &
server=$!
until [ -S "$work/socket" ]; do kill -0 $server || failed "virtiofsd has ended"; sleep 0.1; done
timeout 60 "$qemu" -m 512M -chardev "socket,id=c,path=$work/socket" -device vhost-user-fs-pci,chardev=c,tag=ROOTFS \
    -object memory-backend-memfd,id=m,size=512M,share=on -numa node,memdev=m -machine "previrt-$on" \
    -chardev "file,id=o,path=$work/output" -device virtio-serial-pci -device virtserialport,name=out,chardev=o \
    -serial "file:$work/console" -kernel "$kernel/bzImage" -append "rootfstype=virtiofs root=ROOTFS ro init=/bin/sh -- -c \
\"mount -t devtmpfs d /dev; uname -r | tee /dev/vport*p1; poweroff -f\"" </dev/null 2>>"$work/errors" ||
    failed "status $?, not 0: $(tail -n 5 "$work/console")"
[ "$(cat "$work/output")" = "$release" ] || failed "a guest on a vhost-user server has not written to its port"
wait $server || true # it ends with its connection
echo "vng: $SECONDS s"
