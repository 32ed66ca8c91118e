# For dom0-init: dom0 is the peer of the guest's traffic (net.sh), and reports the domains' processor times to it.
ip address add 10.82.86.1/24 dev guests
/guest/traffic serve 10.82.86.1 >/dev/null &
busybox nc -ll -p 5202 -e /guest/domain-times &
if [ -e /guest/no-segmentation ]; then
    (
        until [ -e /sys/class/net/vif1.0 ]; do sleep 0.1; done
        /guest/no-segmentation vif1.0
    ) &
fi
