#!/bin/sh
# Runs in a guest: much of everything, memory until there is none, and files that must outlive it all. Ends with
# "endurance: nothing was lost", or says what was. The kernel's command line may have endurance_divisor=N, for the Nth
# part of the work, and endurance_seed=N, which it says at both ends and has in its memory.
seed=${endurance_seed:-0}
echo "endurance: seed $seed"
lost=0
mkdir /tmp/kept
for i in $(seq 20); do
    dd if=/dev/urandom of=/tmp/kept/$i bs=4k count=$((i * 5)) 2>/dev/null
done
(cd /tmp/kept && sha256sum ./*) >/tmp/sums
sums=$(sha256sum </tmp/sums)

endurance "${endurance_divisor:-1}" "$seed" || lost=1

killed=$(dmesg | grep -c 'Out of memory: Killed process .* (endurance)')
echo "endurance: killed, says the kernel: $killed of 2"
[ "$killed" = 2 ] || lost=1

[ "$(sha256sum </tmp/sums)" = "$sums" ] || { echo "endurance: the list of checksums has changed"; lost=1; }
whole=$(cd /tmp/kept && sha256sum -c /tmp/sums | grep -c ': OK$')
echo "endurance: files: $whole of 20"
[ "$whole" = 20 ] || lost=1

# The report of an OOM kill has a call trace and is no fault.
# What it says of the processor's own weaknesses is no fault of the kernel's.
bad=$(dmesg | grep -vE 'hw-vuln|RETBleed:' | grep -E 'BUG|WARNING|Oops|general protection|unchecked MSR|lockup|stall|segfault|traps:')
[ -z "$bad" ] || { echo "endurance: kernel log: $bad"; lost=1; }
[ $lost = 0 ] && echo "endurance: nothing was lost, seed $seed"
