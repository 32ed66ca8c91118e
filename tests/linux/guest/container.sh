#!/usr/bin/env bash
# container.sh PROGRAM MODULES
# In a guest whose root is this machine's: the features of a kernel that container engines call, by the engines' own tools.
# Prints `container: NAME: right` for each that is. PROGRAM (container/) does the same for the features without a tool.
set -u
program=$1 modules=$2
work=$(mktemp -d)
mount -t tmpfs none "$work"
cd "$work" || exit 1

feature() { # NAME FUNCTION: in a shell of its own, whose first failing command ends it
    local said
    # Not as a condition, in which bash would pass over failing commands.
    said=$(set -e; "$2" 2>&1)
    if [ $? -eq 0 ]; then
        echo "container: $1: right"
    else
        echo "container: $1: WRONG: $said"
    fi
}
fails() { # COMMAND ...
    ! "$@"
}

# Prints the words of the server at HOST and PORT.
ask() { # NAMESPACE-OR-NOTHING HOST PORT
    ${1:+ip netns exec "$1"} python3 -c '
import socket, sys
connection = socket.create_connection((sys.argv[1], int(sys.argv[2])), timeout=10)
print(connection.recv(100).decode())' "$2" "$3"
}

control_groups() {
    mkdir -p groups
    mountpoint -q groups || mount -t cgroup2 none groups
    local controller
    for controller in cpuset cpu io memory hugetlb pids rdma misc; do
        grep -qw "$controller" groups/cgroup.controllers
    done
    echo "+cpuset +cpu +io +memory +pids" >groups/cgroup.subtree_control
    mkdir groups/few groups/small groups/slow groups/still
    # Two processes and no more.
    echo 2 >groups/few/pids.max
    bash -c 'echo $$ >groups/few/cgroup.procs; exec python3 -c "
import os, time
os.fork() or time.sleep(600)
try:
    os.fork() or time.sleep(600)
except BlockingIOError:
    print(\"no third\")
"' >third
    grep -q 'no third' third
    echo 1 >groups/few/cgroup.kill
    # More memory than the group's ends the program, and it alone.
    echo 16M >groups/small/memory.max
    [ ! -f groups/small/memory.swap.max ] || echo 0 >groups/small/memory.swap.max
    fails bash -c 'echo $$ >groups/small/cgroup.procs; exec python3 -c "b = bytes(1) * (64 << 20)"'
    grep -q '^oom_kill 1$' groups/small/memory.events
    # A tenth of a processor.
    echo "10000 100000" >groups/slow/cpu.max
    bash -c 'echo $$ >groups/slow/cgroup.procs; i=0; until [ "$((++i))" -eq 20000 ]; do :; done'
    fails grep -q '^nr_throttled 0$' groups/slow/cpu.stat
    # A group that stands still, and then ends as one.
    sleep 600 &
    echo $! >groups/still/cgroup.procs
    echo 1 >groups/still/cgroup.freeze
    until grep -q '^frozen 1$' groups/still/cgroup.events; do sleep 0.01; done
    echo 1 >groups/still/cgroup.kill
    until grep -q '^populated 0$' groups/still/cgroup.events; do sleep 0.01; done
}

namespaces() {
    local seen
    seen=$(unshare --user --map-root-user --mount --pid --fork --mount-proc --ipc --net --uts --cgroup --time \
        bash -c 'hostname inside; echo "$$ $(hostname) $(ls -d /proc/[0-9]* | wc -l) $(tail -n +3 /proc/net/dev | wc -l)"')
    # Itself, ls and wc, and the two shells of the pipe; a loop-back device.
    [[ $seen =~ ^1\ inside\ [3-6]\ [1-4]$ ]]
    [ "$(hostname)" != inside ]
}

overlays() {
    mkdir -p overlay/{lower,upper,work,merged}
    echo lower >overlay/lower/changed
    echo lower >overlay/lower/removed
    unshare --user --map-root-user --mount bash -e <<'END'
mount -t overlay none -o lowerdir=overlay/lower,upperdir=overlay/upper,workdir=overlay/work,userxattr overlay/merged
echo upper >overlay/merged/changed
rm overlay/merged/removed
mkdir overlay/merged/made
[ "$(ls overlay/merged | xargs)" = "changed made" ]
END
    [ "$(cat overlay/lower/changed overlay/upper/changed overlay/lower/removed | xargs)" = "lower upper lower" ]
    [ -c overlay/upper/removed ]
}

file_system() { # TYPE CHECK ...
    local type=$1
    shift
    truncate -s 400M "$type"
    "mkfs.$type" -q "$type"
    mkdir "on-$type"
    mount -o loop "$type" "on-$type"
    local number
    for number in 1 2 3; do
        head -c 5000000 /dev/urandom >"on-$type/$number"
    done
    sha256sum "on-$type"/[123] >"$type.sums"
    umount "on-$type"
    "$@" "$type"
    mount -o loop,ro "$type" "on-$type"
    sha256sum --quiet -c "$type.sums"
    umount "on-$type"
    rm "$type"
}
ext4() { file_system ext4 e2fsck -fn; }
xfs() { file_system xfs xfs_repair -n; }
btrfs() { file_system btrfs command btrfs check; }

# Twice as much memory as the group has, in pages that all differ.
swap() {
    local device=/dev/nvme0n1
    mkswap -q "$device"
    swapon "$device"
    mkdir groups/swapped
    echo 24M >groups/swapped/memory.max
    bash -c 'echo $$ >groups/swapped/cgroup.procs; exec python3 -c "
import os
pages = bytearray(os.urandom(4096) * 12288)
for i in range(12288):
    pages[i * 4096 : i * 4096 + 8] = i.to_bytes(8, \"little\")
assert all(int.from_bytes(pages[i * 4096 : i * 4096 + 8], \"little\") == i for i in range(12288))
"'
    grep -Eq '^pswpin [1-9]' /proc/vmstat
    grep -Eq '^pswpout [1-9]' /proc/vmstat
    swapoff "$device"
}

# As podman and Docker have it: containers at a bridge, one of them behind a port of the machine.
containers_network() {
    local number
    ip link set lo up
    ip link add bridge type bridge
    ip address add 10.1.0.1/24 dev bridge
    ip -6 address add fd01::1/64 dev bridge nodad
    ip link set bridge up
    for number in 2 3; do
        ip netns add "container$number"
        ip link add "to$number" type veth peer name eth0 netns "container$number"
        ip link set "to$number" master bridge up
        ip -n "container$number" link set lo up
        ip -n "container$number" address add "10.1.0.$number/24" dev eth0
        ip -n "container$number" -6 address add "fd01::$number/64" dev eth0 nodad
        ip -n "container$number" link set eth0 up
        ip -n "container$number" route add default via 10.1.0.1
    done
    ip netns exec container2 python3 -c '
import socket
listener = socket.create_server(("::", 80), family=socket.AF_INET6, dualstack_ipv6=True)
print(flush=True)
while True:
    connection, peer = listener.accept()
    connection.sendall(b"to " + peer[0].encode())
    connection.close()
' >listening 2>/dev/null &
    until [ -s listening ]; do sleep 0.05; done
    [ "$(ask container3 10.1.0.2 80)" = "to ::ffff:10.1.0.3" ]
    [ "$(ask container3 fd01::2 80)" = "to fd01::3" ]
}

nftables() {
    nft -f - <<'END'
table inet filter {
    set blocked { type inet_service; flags interval; elements = { 81, 90-95 } }
    chain forward {
        type filter hook forward priority 0; policy accept;
        ct state established,related counter accept
        tcp dport @blocked reject with icmpx type port-unreachable
        limit rate 5/second burst 5 packets log prefix "forwarded " counter
    }
}
table ip nat {
    chain output { type nat hook output priority -100; tcp dport 8080 dnat to 10.1.0.2:80; }
    chain postrouting { type nat hook postrouting priority 100; ip saddr 10.1.0.0/24 oifname != "bridge" masquerade; }
}
END
    [ "$(nft list ruleset | grep -c chain)" -eq 3 ]
    [ "$(ask '' 10.1.0.1 8080)" = "to ::ffff:10.1.0.1" ]
    nft flush ruleset
    fails ask '' 10.1.0.1 8080
}

iptables_nft() {
    local command
    iptables-nft -t nat -N PUBLISHED
    iptables-nft -t nat -A OUTPUT -m addrtype --dst-type LOCAL -m comment --comment "ports" -j PUBLISHED
    iptables-nft -t nat -A PUBLISHED -p tcp --dport 8081 -j DNAT --to-destination 10.1.0.2:80
    iptables-nft -t nat -A POSTROUTING -s 10.1.0.0/24 ! -o bridge -j MASQUERADE
    iptables-nft -A FORWARD -m conntrack --ctstate RELATED,ESTABLISHED -j ACCEPT
    iptables-nft -A FORWARD -p tcp -m multiport --dports 82,83 -j REJECT --reject-with tcp-reset
    ip6tables-nft -t nat -A POSTROUTING -s fd01::/64 ! -o bridge -j MASQUERADE
    [ "$(ask '' 10.1.0.1 8081)" = "to ::ffff:10.1.0.1" ]
    for command in iptables-nft ip6tables-nft; do
        "$command" -t nat -F
        "$command" -F
    done
    iptables-nft -t nat -X
    fails ask '' 10.1.0.1 8081
}

tunnels() {
    mkdir -p /dev/net
    [ -c /dev/net/tun ] || mknod /dev/net/tun c 10 200
    ip tuntap add tap0 mode tap
    ip tuntap add tun0 mode tun
    ip link set tap0 master bridge up
    ip link delete tap0
    ip link delete tun0
}

programs_of_32_bits() {
    printf '%s\n' '.globl _start' '_start:' 'mov $4, %eax' 'mov $1, %ebx' 'mov $text, %ecx' 'mov $8, %edx' 'int $0x80' \
        'mov $1, %eax' 'mov $0, %ebx' 'int $0x80' 'text: .ascii "32 bits\n"' |
        as --32 -o 32.o
    ld -m elf_i386 -o 32 32.o
    [ "$(./32)" = "32 bits" ]
}

other_programs() { # by their names alone
    mountpoint -q /proc/sys/fs/binfmt_misc || mount -t binfmt_misc none /proc/sys/fs/binfmt_misc
    echo ":reversed:E::reversed::/usr/bin/rev:" >/proc/sys/fs/binfmt_misc/register
    echo olleh >a.reversed
    chmod +x a.reversed
    [ "$(./a.reversed)" = hello ]
    echo -1 >/proc/sys/fs/binfmt_misc/reversed
}

# Linux's own tests of its compiler for BPF, and of the branches that it writes into its code.
kernel_tests() {
    insmod "$modules/lib/test_static_key_base.ko"
    insmod "$modules/lib/test_static_keys.ko"
    insmod "$modules/lib/test_bpf.ko"
    dmesg | grep 'test_bpf: .*Summary'
    [ "$(dmesg | grep -c 'test_bpf: .*Summary: .* 0 FAILED')" -eq 3 ]
}

feature "control groups" control_groups
feature "namespaces" namespaces
feature "overlays" overlays
for name in ext4 xfs btrfs swap; do
    feature "$name" "$name"
done
feature "a network of containers" containers_network
feature "nftables" nftables
feature "iptables-nft" iptables_nft
feature "tunnels" tunnels
feature "programs of 32 bits" programs_of_32_bits
feature "programs by their names" other_programs
feature "kernel tests" kernel_tests
"$program"
