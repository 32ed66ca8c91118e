#!/bin/sh
# Runs in a guest: what a kernel must do for programs. Ends with "programs: all passed", or says what failed.
failed=0
expect() { # NAME WANTED GOT
    if [ "$2" = "$3" ]; then
        echo "passed: $1"
    else
        echo "FAILED: $1: expected '$2', got '$3'"
        failed=1
    fi
}

cat /proc/version
echo "processors: $(grep -c ^processor /proc/cpuinfo)"
echo "text at: $(grep ' _text$' /proc/kallsyms | cut -d' ' -f1)"

expect pipes 500500 "$(seq 1000 | awk '{ sum += $1 } END { print sum }' | cat | cat)"
expect fork "$(seq 200 | tr '\n' ' ')" "$(for i in $(seq 200); do (printf '%s ' "$i"); done)"
expect exec yes "$(for i in $(seq 50); do /bin/busybox true || echo no; done; echo yes)"

dd if=/dev/urandom of=/tmp/file bs=64k count=64 2>/dev/null
cp /tmp/file /tmp/copy
expect files "$(sha256sum </tmp/file)" "$(sha256sum </tmp/copy)"
gzip -c /tmp/file | gunzip | cmp - /tmp/file
expect compression 0 $?
rm /tmp/copy
expect unlink 'No such file or directory' "$(cat /tmp/copy 2>&1 | sed 's/.*: //')"

(trap 'echo caught; exit 0' USR1; : >/tmp/ready; while :; do sleep 0.1; done) >/tmp/signal &
child=$!
until [ -e /tmp/ready ]; do sleep 0.1; done
kill -USR1 $child
wait $child
expect signals caught "$(cat /tmp/signal)"

# A busy host may let it sleep for longer.
begin=$(cut -d' ' -f1 /proc/uptime)
sleep 1
expect time yes "$(awk -v begin="$begin" '{ print ($1 - begin >= 0.99 && $1 - begin < 60) ? "yes" : $1 - begin }' /proc/uptime)"

echo 'over the wire' | nc -l -p 7 127.0.0.1 >/tmp/sent &
until grep -q '^ *[0-9]*: [0-9A-F]*:0007 [0-9A-F]*:0000 0A ' /proc/net/tcp; do sleep 0.1; done # it listens
expect loopback 'over the wire' "$(nc 127.0.0.1 7 </dev/null)"

expect stack "$(printf 'deep %.0s' $(seq 500))" "$(f() { [ "$1" -eq 0 ] || { printf 'deep '; f $(($1 - 1)); }; }; f 500)"

facilities
expect facilities 0 $?
echo "clock source: $(cat /sys/devices/system/clocksource/clocksource0/current_clocksource)"

for module in /modules/*.ko; do
    [ -e "$module" ] || continue
    insmod "$module" 2>/dev/null || later="$later $module"
done
for module in $later; do insmod "$module" 2>/dev/null || again="$again $module"; done
for module in $again; do insmod "$module"; expect "module $module" 0 $?; done
if lsmod | grep -q ^dummy; then
    ip link add dummy9 type dummy && ip link set dummy9 up && ip link del dummy9
    expect dummy.ko 0 $?
    rmmod dummy
    expect rmmod 0 $?
fi

operations | tail -n 1 | grep -q '^operation create_and_delete '
expect operations 0 $?

# What it says of the processor's own weaknesses is no fault of the kernel's.
bad=$(dmesg | grep -vE 'hw-vuln|RETBleed:' | grep -E 'BUG|WARNING|Oops|general protection|unchecked MSR|Call Trace')
expect 'kernel log' '' "$bad"
[ $failed = 0 ] && echo 'programs: all passed'
