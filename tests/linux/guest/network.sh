#!/bin/sh
# Runs in a guest with a network card: traffic with `peer` (ADDRESS:PORT), or, without one, as a peer of another guest.
# The kernel's command line says peer, amount (bytes of each stream), own (its address, else by DHCP), mac, mtu, vlan, and
# switch, where the two are at one.
# A /ns83820-stock.ko is Linux's driver as it comes, with its defects (linux-patches/README.md). Ends with "network: all
# passed", or says what failed.
card=0000:00:03.0
driver=/sys/bus/pci/drivers/ns83820
stock=/ns83820-stock.ko
is_stock() { [ -f $stock ]; }
failed=0 pings=''
check() { # NAME COMMAND ...
    name=$1
    shift
    if "$@"; then
        echo "passed: $name"
    else
        echo "FAILED: $name: status $?"
        failed=1
    fi
}
end() {
    [ -z "$pings" ] || kill "$pings"
    sleep 1 # for what is on its way
    cat /proc/net/dev
    grep ns83820 /proc/interrupts
    [ $failed -eq 0 ] && echo 'network: all passed'
    exit $failed
}

set_up() {
    if [ -z "$own" ]; then
        udhcpc -i eth0 -n -q -t 5 -s /bin/use-lease
        return
    fi
    device=eth0
    [ -z "$mtu" ] || ip link set eth0 mtu "$mtu" || return
    [ -z "$mac" ] || ip link set eth0 address "$mac" || return
    ip link set eth0 up || return
    if [ -n "$vlan" ]; then
        device=eth0.$vlan
        ip link add link eth0 name "$device" type vlan id "$vlan" && ip link set "$device" up || return
    fi
    ip address add "$own/24" dev "$device"
}
insert_module() {
    echo $card >$driver/unbind && insmod $stock && [ -e $driver-stock/$card ]
}
received() {
    cat /sys/class/net/eth0/statistics/rx_packets
}
# While a stream comes, which goes on behind it.
under_traffic() { # COMMAND
    enough=$(($(received) + 100))
    traffic receive "$peer" $((amount * 4)) &
    for attempt in $(seq 1000); do
        [ "$(received)" -lt "$enough" ] || break
        usleep 10000
    done
    kill -0 $! || return
    "$1" && wait $!
}
bind_again() {
    echo $card >$driver/unbind && sleep 1 && echo $card >$driver/bind && set_up
}
load_again() {
    rmmod ns83820_stock && sleep 1 && insmod $stock && set_up
}
down_and_up() {
    ip link set eth0 down && sleep 1 && ip link set eth0 up
}
cable_pulled() { # of the peer, by who reads this
    echo "network: pull the peer's cable" && sleep 3
}
# The stock driver does not tell the network, but says it.
link_went_down() { # HOW-OFTEN
    for second in 1 2 3 4 5 6 7 8 9 10; do
        [ "$(dmesg | grep -c 'eth0: link now down')" = "$1" ] && return
        sleep 1
    done
    return 1
}
carrier_is() { # 0|1
    is_stock || [ "$(cat /sys/class/net/eth0/carrier)" = "$1" ]
}
switch_ended() { # by who reads this
    echo 'network: end the switch' && link_went_down 1 && carrier_is 0
}
switch_came() {
    echo 'network: start a switch'
    answer
}
# To the first ping that finds the peer.
answer() {
    for attempt in 1 2 3 4 5 6 7 8 9 10; do
        ping -c 1 -W 1 "${peer%:*}" >/dev/null && return
    done
    return 1
}

# What Linux loses for want of room is nothing that the card can help.
echo 8000000 >/proc/sys/net/core/rmem_max
echo 10000 >/proc/sys/net/core/netdev_max_backlog
! is_stock || check 'the driver as a module' insert_module
check 'an address' set_up
check 'registers by a program' card_registers
ip address show
if [ -z "$peer" ]; then
    check serving traffic serve "$own"
    [ -z "$switch" ] || check 'its link went down twice' link_went_down 2 # with its cable, and with the switch
    end
fi
# With the stock driver, who sends datagrams only may wait for ever for a ring that has room again, unless something else
# is sent.
if is_stock; then
    while usleep 200000; do ping -c 1 -W 1 "${peer%:*}"; done >/dev/null 2>&1 &
    pings=$!
fi
answer
check ping ping -c 3 "${peer%:*}"
check 'a stream out' traffic send "$peer" "$amount"
check 'a stream in' traffic receive "$peer" "$amount"
check 'datagrams out' traffic send-datagrams "$peer" $((amount / 1400)) 1400
check 'datagrams in' traffic receive-datagrams "$peer" $((amount / 1400)) 1400
check 'small datagrams out' traffic send-datagrams "$peer" $((amount / 1400)) 8
if [ -n "$own" ]; then # a user network passes neither groups nor fragments
    check 'to a group' traffic send-group "$peer" $((amount / 14000)) 1400
    check 'as one of a group' traffic receive-group "$peer" $((amount / 14000)) 1400
    check 'large datagrams, in fragments' traffic send-datagrams "$peer" $((amount / 20000)) 20000
    if is_stock; then
        check 'a driver that goes and comes' under_traffic load_again
    else
        check 'a device that goes down and comes up' under_traffic down_and_up # the stock driver sends no more then
        check 'a device that changes its driver' under_traffic bind_again
    fi
fi
if [ -n "$switch" ]; then
    check "a peer's cable" under_traffic cable_pulled
    check 'a switch that ends' switch_ended
    check 'another switch' switch_came
    check 'its carrier' carrier_is 1
fi
check 'the end of the peer' traffic end "$peer"
end
