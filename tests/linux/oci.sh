#!/usr/bin/env bash
# oci.sh KERNEL-DIRECTORY BUILD-DIRECTORY
# Containers of podman, in guests of previrt-oci. The image is made here: busybox.
# With `can` alone: whether podman runs a container of that image by runc, without previrt.
. "$(dirname "${BASH_SOURCE[0]}")/common.sh"

namespace=previrt-oci-$$
clean_up() {
    podman_here rm --all --force --time 0 >/dev/null 2>&1 || true
    ip netns delete "$namespace" 2>/dev/null || true
    umount "$work/storage/overlay" 2>/dev/null || true
    rm -rf "$work"
}
trap clean_up EXIT
podman_here() {
    podman --root "$work/storage" --runroot "$work/run" --cgroup-manager cgroupfs "${runtime[@]}" "$@"
}
make_image() {
    mkdir -p "$work/image/bin" "$work/image/etc"
    cp /bin/busybox "$work/image/bin/"
    for name in sh cat echo id hostname grep touch sleep uname ip nc; do
        ln -s busybox "$work/image/bin/$name"
    done
    tar -C "$work/image" -c . | podman_here import - busybox:test >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
}
if [ "$1" = can ]; then
    runtime=(--runtime runc)
    make_image
    podman_here run --rm --network none --ulimit nofile=1024:1024 --ulimit nproc=1024:1024 busybox:test /bin/echo works
    exit
fi

kernel=$(realpath "$1") build=$(realpath "$2")
runtime=(--runtime "$build/toolchain/previrt-oci" --runtime-flag "kernel=$kernel/bzImage")
make_image
failures=0
right() { # NAME STATUS STANDARD-OUTPUT STANDARD-ERROR COMMAND ...
    local name=$1 wanted=$2 output=$3 errors=$4 status=0
    shift 4
    "$@" >"$work/output" 2>"$work/errors" </dev/null || status=$?
    if [ "$status" -eq "$wanted" ] && [ "$(cat "$work/output")" = "$output" ] && [[ $(cat "$work/errors") = $errors ]]; then
        echo "oci: $name: right"
    else
        echo "oci: $name: WRONG: status $status; output: $(cat "$work/output"); errors: $(cat "$work/errors")"
        failures=$((failures + 1))
    fi
}
run() { podman_here run --rm --network none "$@"; }

right "a kernel of its own" 0 "$(sed -n 's/^CONFIG_LOCALVERSION="\(.*\)"/\1/p' "$kernel/config")" '' \
    run busybox:test sh -c 'uname -r | grep -o -- -.*'
right "streams and status" 7 out err run busybox:test sh -c 'echo out; echo err >&2; exit 7'
right "a program that is not there" 127 '' '*nothing: No such file or directory*' run busybox:test nothing
right "user and groups" 1 'uid=7 gid=8 groups=8,9' '*Permission denied' \
    run --user 7:8 --group-add 9 busybox:test sh -c 'id; touch /file'
right "a read-only root and a tmpfs" 0 'read-only' '' \
    run --read-only --tmpfs /t busybox:test sh -c 'touch /file 2>/dev/null || echo read-only; touch /t/file'
right "no capabilities" 0 $'CapEff:\t0000000000000000\nCapBnd:\t0000000000000000' '' \
    run --cap-drop all busybox:test grep -E 'CapEff|CapBnd' /proc/self/status
right "filter and no new privileges" 0 $'NoNewPrivs:\t1\nSeccomp:\t2' '' \
    run --security-opt no-new-privileges busybox:test grep -E '^(NoNewPrivs|Seccomp):' /proc/self/status
right "masked and read-only paths" 0 '0 read-only' '' \
    run busybox:test sh -c 'grep -c . /proc/keys | tr -d "\n"; echo 1 2>/dev/null >/proc/sys/kernel/panic || echo " read-only"'
right "limits, name and the first process" 0 '100 guest 1' '' \
    run --ulimit nofile=100:200 --hostname guest busybox:test sh -c 'echo $(ulimit -n) $(hostname) $$'
mkdir "$work/volume"
echo outside >"$work/volume/in"
right "a volume" 0 outside '' run -v "$work/volume:/v" busybox:test sh -c 'cat /v/in; echo inside >/v/out'
right "what it wrote" 0 inside '' cat "$work/volume/out"

# A container that stays. What this machine's kernel sends by the other end of the interface is the guest's to answer.
ip netns add "$namespace"
ip -n "$namespace" link set lo up
ip link add previrt-test0 type veth peer name eth0 netns "$namespace"
ip address add 10.211.77.1/24 dev previrt-test0
ip link set previrt-test0 up
ip -n "$namespace" address add 10.211.77.2/24 dev eth0
ip -n "$namespace" link set eth0 up
ip -n "$namespace" route add default via 10.211.77.1
podman_here run -d --network "ns:/run/netns/$namespace" --name stays busybox:test \
    sh -c 'trap "exit 3" TERM; while :; do echo answer | nc -l -p 7000; done & while :; do sleep 0.1; done' >/dev/null
right "exec, at once" 5 $'typed' 'err' sh -c 'exec "$@"' sh podman --root "$work/storage" --runroot "$work/run" \
    --cgroup-manager cgroupfs "${runtime[@]}" exec stays sh -c 'echo typed; echo err >&2; exit 5'
right "exec's user and directory" 0 $'uid=7 gid=8\n/bin' '' \
    podman_here exec -u 7:8 -w /bin stays sh -c 'id; echo $PWD'
right "addresses and routes" 0 $'default via 10.211.77.1 dev eth0 \n10.211.77.0/24 dev eth0 scope link  src 10.211.77.2 ' '' \
    podman_here exec stays ip route
right "a connection from this machine" 0 answer '' timeout 20 python3 -c '
import socket
print(socket.create_connection(("10.211.77.2", 7000), timeout=15).recv(100).decode(), end="")'
right "pause" 0 stays '' podman_here pause stays
right "paused" 0 paused '' podman_here inspect -f '{{.State.Status}}' stays
right "resume" 0 stays '' podman_here unpause stays
right "stop" 0 stays '' podman_here stop stays
right "its status" 0 3 '' podman_here inspect -f '{{.State.ExitCode}}' stays
right "kill" 0 killed '' sh -c '
"$@" run -d --network none --name killed busybox:test sleep 1000 >/dev/null && "$@" kill killed' sh \
    podman --root "$work/storage" --runroot "$work/run" --cgroup-manager cgroupfs "${runtime[@]}"
right "wait" 0 137 '' podman_here wait killed
right "remove" 0 '' '' sh -c '"$@" rm --all >/dev/null' sh \
    podman --root "$work/storage" --runroot "$work/run" --cgroup-manager cgroupfs "${runtime[@]}"
left=$(find /run/previrt-oci/containers -mindepth 1 -maxdepth 1 -newer "$work/log" 2>/dev/null || true)
[ -z "$left" ] || { echo "oci: containers are left: $left"; failures=$((failures + 1)); }
[ "$failures" -eq 0 ] || { echo "oci: FAILED: $failures"; exit 1; }
echo "oci: all right"
