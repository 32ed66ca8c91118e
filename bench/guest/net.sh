#!/bin/sh
# Traffic of a guest with its network's host, each transfer between two lines: net begin NAME, net end.
# The kernel's command line says net_own, net_peer, net_mtu, net_bytes and net_datagrams, as many as a quick sender
# sends while a slow one sends a tenth; net_transfers, which of them, with a comma behind each; and with net_meter
# the peer's port that reports processor times.
# /modules has the modules of the driver.
for module in /modules/*; do
    [ ! -f "$module" ] || insmod "$module"
done
cd /sys/class/net
device=$(ls -d eth0 vec0 2>/dev/null)
ip address add "$net_own/24" dev "$device"
ip link set "$device" mtu "$net_mtu" up
[ ! -x /bin/no-segmentation ] || no-segmentation "$device"
for attempt in 1 2 3 4 5 6 7 8 9 10; do
    ping -c 1 -W 1 "$net_peer" >/dev/null && break
done

read_meter() {
    [ -z "$net_meter" ] || nc "$net_peer" "$net_meter" </dev/null
}

transfer() { # NAME COMMAND ...
    case $net_transfers in
    "$1,"* | *",$1,"*) ;;
    *) return ;;
    esac
    read_meter
    echo "net begin $1"
    shift
    traffic "$@"
    read_meter
    echo "net end"
}
transfer send send "$net_peer" "$net_bytes"
transfer receive receive "$net_peer" "$net_bytes"
transfer send_datagram send-datagrams "$net_peer" $((net_datagrams / 10)) 64
transfer receive_datagram receive-datagrams "$net_peer" "$net_datagrams" 64
traffic end "$net_peer"
