#!/usr/bin/env bash
# waiting.sh KERNEL-DIRECTORY PREVIRT
# A guest with two processors, both of which are busy, in more host processes than that. Those that wait for their turn block the
# monitor's signal, which comes to all of them: otherwise each would wake up for it.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
kernel=$1 previrt=$2

cat >"$work/guest.sh" <<'END'
for number in 0 1; do
    taskset -c "$number" sh -c 'while :; do :; done' &
    for sleeper in 1 2 3 4; do taskset -c "$number" sleep 1000 & done
done
sleep 1
echo busy
cat >/dev/null
END

mkfifo "$work/input"
"$previrt" run "$kernel/bzImage" --on process --cpus 2 --root / --share "$work" -- sh "$work/guest.sh" \
    <"$work/input" >"$work/said" 2>&1 &
guest=$!
exec 3>"$work/input"
line=
while [ "$line" != busy ] && kill -0 "$guest"; do
    sleep 0.1
    line=$(tail -n 1 "$work/said")
done
# The keeper's children.
blocked=0 open=0
for process in $(ps -eo pid=,ppid= | awk -v root="$guest" '
    { parent[$1] = $2 }
    END { for (one in parent) { for (up = one; up in parent && up != root; up = parent[up]); if (up == root) print one } }'); do
    [ "$(cat "/proc/$process/comm" 2>/dev/null)" = previrt-process ] || continue
    mask=$(awk '$1 == "SigBlk:" { print $2 }' "/proc/$process/status")
    if ((16#$mask & 1 << 9)); then blocked=$((blocked + 1)); else open=$((open + 1)); fi
done
exec 3>&-
status=0
wait "$guest" || status=$?
cat "$work/said"
echo "waiting: $blocked block the signal, $open do not"
# The keeper and one process of each processor do not; each processor may be on its way from one process to another.
[ "$line" = busy ] && [ "$status" -eq 0 ] && [ "$open" -le 5 ] && [ "$blocked" -ge 6 ] || {
    echo "waiting: FAILED: status $status"
    exit 1
}
