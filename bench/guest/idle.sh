#!/bin/sh
# A guest that has nothing to do. With idle_address=A on the command line it has that address, and is up once the bench
# has answered its ping. Nobody asks for another's MAC address, which would wake all guests.
address=$(sed -n 's/.*idle_address=\([0-9.]*\).*/\1/p' /proc/cmdline)
if [ -n "$address" ]; then
    ip address add "$address/16" dev eth0
    ip link set eth0 up
    arp -s 10.9.255.254 52:54:00:09:ff:fe
    until ping -c 1 -W 2 10.9.255.254 >/dev/null; do :; done
fi
echo "idle: up"
while :; do
    sleep 1000
done
