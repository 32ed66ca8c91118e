#!/usr/bin/env bash
# network.sh ON user|tap|bridge|switch|stock KERNEL-DIRECTORY BUILD-DIRECTORY
# Traffic of a guest's network card, each end checking what it gets: with a program of this machine by `--net user`, or
# in long frames by a tap in a network namespace; between two guests in long frames of a VLAN, by taps and a bridge there
# (the other is a process), or at a switch; or at that with Linux's driver as it is, without what linux-patches/optional
# mends, as a module.
if [[ $2 = @(tap|bridge) ]] && [ -z "${PREVIRT_NAMESPACE:-}" ]; then
    PREVIRT_NAMESPACE=1 exec unshare -n "$0" "$@"
fi
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
on=$1 how=$2 kernel=$3 build=$4
previrt=$build/toolchain/previrt traffic=$build/bench/traffic
amount=${AMOUNT:-20000000}
[[ $on != @(xen-domu|kvm-nested) ]] || amount=${AMOUNT:-4000000} # under emulation, with a bridge between
files=(/run-me="$here/guest/network.sh" /bin/traffic="$traffic" /bin/use-lease="$here/guest/use-lease"
    /bin/card_registers="$build/tests/linux/card_registers")
own_options='' peer_options=''
if [[ $how = @(switch|bridge) ]]; then
    own_options=' mac=52:54:00:83:82:02 mtu=6000 vlan=7'
    peer_options=' mac=52:54:00:83:82:01 mtu=6000 vlan=7'
fi
if [ "$how" = stock ]; then
    mkdir "$work/driver"
    patch --quiet --reverse -o "$work/driver/ns83820-stock.c" "$(source_of "$kernel")/drivers/net/ethernet/natsemi/ns83820.c" \
        "$here/../../linux-patches/optional/ns83820-repairs.patch"
    sed -i 's/\.name\t\t= "ns83820"/.name = "ns83820-stock"/' "$work/driver/ns83820-stock.c" # the kernel has one
    echo 'obj-m := ns83820-stock.o' >"$work/driver/Makefile"
    "$kernel/make" M="$work/driver" modules >"$work/log" 2>&1 || { tail -n 20 "$work/log"; exit 1; }
    "$previrt" audit "$work/driver/ns83820-stock.ko"
    files+=(/ns83820-stock.ko="$work/driver/ns83820-stock.ko")
fi
"$userland/make-initrd" "$work/initrd" "${files[@]}"
options=(--initrd "$work/initrd" --timeout "${TIMEOUT:-300}" --verbose)
started=()
trap 'kill "${started[@]}" 2>/dev/null || true; wait; rm -rf "$work"' EXIT

# Its first line says that it listens.
start() { # OUTPUT COMMAND ...
    local output=$1
    shift
    "$@" >"$output" 2>&1 &
    started+=($!)
    for _ in $(seq 100); do
        [ ! -s "$output" ] || return 0
        kill -0 $! 2>/dev/null || break
        sleep 0.1
    done
    cat "$output"
    echo "network: FAILED: $1 did not start"
    exit 1
}

make_tap() { # NAME
    busybox tunctl -t "$1" >"$work/log" 2>&1 || { cat "$work/log"; exit 1; }
    busybox ip link set "$1" mtu 6000 up
}
start_peer() { # PLACE OPTION ... : another guest
    local place=$1
    shift
    "$previrt" run --on "$place" "$kernel/bzImage" "${options[@]}" "$@" </dev/null >"$work/peer" 2>&1 &
    peer=$!
    started+=("$peer")
}

if [ "$how" = user ]; then
    port=$((20000 + $$ % 20000))
    start "$work/peer" "$traffic" serve "127.0.0.1:$port"
    net=user,host-loopback command_line="peer=10.0.2.2:$port"
elif [ "$how" = tap ]; then
    busybox ip link set lo up
    make_tap guest
    busybox ip address add 10.9.0.1/24 dev guest
    start "$work/peer" "$traffic" serve 10.9.0.1
    net=tap=guest command_line="own=10.9.0.2 peer=10.9.0.1 mac=52:54:00:83:82:02 mtu=6000"
elif [ "$how" = bridge ]; then
    make_tap guest
    make_tap peer
    busybox ip link add bridge type bridge
    for tap in guest peer; do busybox ip link set $tap master bridge; done
    busybox ip link set bridge up
    start_peer process --net tap=peer --append "quiet own=10.9.0.1$peer_options"
    net=tap=guest command_line="own=10.9.0.2 peer=10.9.0.1$own_options"
else
    start "$work/switch" "$previrt" switch "$work/socket"
    switch=$!
    isolate=()
    [[ $on != *-isolate ]] || isolate=(--isolate)
    start_peer "${on%-isolate}" "${isolate[@]}" --net "switch=$work/socket" \
        --append "quiet own=10.9.0.1 switch=1$peer_options"
    # The guest says when its peer's cable is to be pulled and plugged in again, and when there is to be no switch.
    (
        await() { # LINE
            until grep -qs "network: $1" "$work/console"; do sleep 0.1; done
        }
        await "pull the peer's cable"
        kill -USR1 "$peer" && sleep 1 && kill -USR2 "$peer"
        await 'end the switch'
        kill "$switch"
        await 'start a switch'
        exec "$previrt" switch "$work/socket"
    ) &
    started+=($!)
    net=switch=$work/socket command_line="own=10.9.0.2 peer=10.9.0.1 switch=1$own_options"
fi
run_guest "$previrt" "$on" "$kernel/bzImage" "${options[@]}" --stats "$work/stats.json" --net "$net" \
    --append "quiet $command_line amount=$amount"
if [ "$status" -ne 0 ] || ! grep -q '^network: all passed' "$work/console"; then
    cat "$work/peer"
    echo "network: FAILED with status $status"
    exit 1
fi
if [[ $how = @(bridge|switch|stock) ]]; then
    wait "$peer" || true
    if ! grep -q '^network: all passed' "$work/peer"; then
        cat "$work/peer"
        echo "network: FAILED at the peer"
        exit 1
    fi
fi
python3 "$here/check_stats.py" "$work/stats.json" "$kernel/previrt.json"
counter() { # NAME
    sed -n "s/.*\"$1\":\([0-9]*\).*/\1/p" "$work/stats.json"
}
echo "network: the VMM's packets: $(counter packets_sent) sent, $(counter packets_received) received," \
    "$(counter packets_lost) lost; its calls: $(counter packet_calls)"
[ "$(counter packets_lost)" = 0 ] || { echo "network: FAILED: the VMM lost packets"; exit 1; }
if [ "$how" = user ]; then # where the device was the same all the time
    counted="$(awk '$1 == "eth0:" { print $11, $3 }' "$work/console")"
    relayed=$(sed -n 's/^previrt: network: sent \([0-9]*\) packets.* 0 dropped; received \([0-9]*\) .* 0 dropped;.*/\1 \2/p' \
        "$work/messages")
    [ "$on" != xen-domu ] || relayed=$counted # by nobody else
    if [ "$counted" != "$(counter packets_sent) $(counter packets_received)" ] || [ "$counted" != "$relayed" ]; then
        echo "network: FAILED: the driver has counted $counted, and who carried it $relayed"
        exit 1
    fi
fi
