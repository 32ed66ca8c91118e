#!/usr/bin/env bash
# stolen.sh ON KERNEL-DIRECTORY PREVIRT
# A guest with twice this machine's processors keeps all of them busy: /proc/stat says that half of their time is stolen, or more
# where others take this machine's time too. While the guest is idle, a smaller part of its time is stolen: a sleep is no stolen time.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
on=$1 kernel=$2 previrt=$3
processors=$((2 * $(nproc)))

cat >"$work/guest.sh" <<'END'
set -e
columns() { awk '$1 == "cpu" { print $2 + $3 + $4, $9, $5 + $6 }' /proc/stat; } # busy, stolen, idle
difference() { echo "$1 $2 $3: busy $(($7 - $4)), stolen $(($8 - $5)), idle $(($9 - $6))"; }
before=$(columns)
sleep 3
between=$(columns)
difference of idle processors $before $between
for number in $(seq "$1"); do (end=$(($(date +%s) + 6)); while [ "$(date +%s)" -lt "$end" ]; do seq 20000 >/dev/null; done) & done
wait
difference of busy processors $between $(columns)
dmesg | grep -E 'BUG:|WARNING: CPU|Oops|stall|soft lockup' && exit 1
echo "the kernel complains of nothing"
END
status=0
timeout 200 "$previrt" run "$kernel/bzImage" --on "$on" --cpus "$processors" --root / --share "$work" -- sh "$work/guest.sh" "$processors" \
    </dev/null >"$work/said" 2>&1 || status=$?
cat "$work/said"
[ "$status" -eq 0 ] || { echo "stolen: FAILED: status $status"; exit 1; }
sed -n 's/^of \([a-z]*\) processors: busy \([0-9]*\), stolen \([0-9]*\), idle \([0-9]*\)$/\1 \2 \3 \4/p' "$work/said" >"$work/figures"
awk '$1 == "busy" && $3 < ($2 + $3) * 3 / 10 { print "stolen: FAILED: less than three tenths of the busy time"; failed = 1 }
     { part[$1] = $3 / ($2 + $3 + $4) }
     END {
         if (NR != 2) { print "stolen: FAILED: no figures"; failed = 1 }
         if (part["idle"] >= part["busy"]) { print "stolen: FAILED: an idle guest loses no less than a busy one"; failed = 1 }
         exit failed
     }' "$work/figures"
