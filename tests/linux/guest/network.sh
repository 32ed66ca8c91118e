#!/bin/sh
# Runs in a guest with a network card: traffic with `peer` (ADDRESS:PORT), or, without one, as a peer of another guest.
# The kernel's command line says peer, own (its address, else by DHCP) and amount (bytes of each stream).
# Ends with "network: all passed", or says what failed.
failed=0
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
    cat /proc/net/dev
    grep eth0 /proc/interrupts
    [ $failed -eq 0 ] && echo 'network: all passed'
    exit $failed
}

if [ -n "$own" ]; then
    ip address add "$own/24" dev eth0
    ip link set eth0 up
else
    check DHCP udhcpc -i eth0 -n -q -t 5 -s /bin/use-lease
fi
ip address show dev eth0
if [ -z "$peer" ]; then
    check serving traffic serve "$own"
    end
fi
for attempt in 1 2 3 4 5 6 7 8 9 10; do
    ping -c 1 -W 1 "${peer%:*}" >/dev/null && break
done
check ping ping -c 3 "${peer%:*}"
check 'a stream out' traffic send "$peer" "$amount"
check 'a stream in' traffic receive "$peer" "$amount"
check 'datagrams out' traffic send-datagrams "$peer" $((amount / 1400)) 1400
check 'datagrams in' traffic receive-datagrams "$peer" $((amount / 1400)) 1400
check 'small datagrams out' traffic send-datagrams "$peer" $((amount / 1400)) 8
if [ -n "$own" ]; then # a user network passes no fragments
    check 'large datagrams, in fragments' traffic send-datagrams "$peer" $((amount / 20000)) 20000
fi
check 'the end of the peer' traffic end "$peer"
if [ -n "$own" ]; then # then the switch ends too; the driver does not tell the network, but says it
    for second in 1 2 3 4 5 6 7 8 9 10; do
        dmesg | grep -q 'eth0: link now down' && break
        sleep 1
    done
    check 'a link that goes down' [ "$(dmesg | grep -c 'eth0: link now down')" = 1 ]
fi
end
