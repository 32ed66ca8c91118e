#!/usr/bin/env bash
# many.sh ON KERNEL-DIRECTORY BUILD-DIRECTORY
# Twenty guests at once run the endurance test, each with a seed of its own in its memory: none loses anything, none
# shows another's seed, and nothing is left of them. PREVIRT_ENDURANCE_DIVISOR=1 does all of the work in each guest,
# not the twentieth part.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
on=$1 kernel=$2 build=$3 guests=20 divisor=${PREVIRT_ENDURANCE_DIVISOR:-20}
previrt=$build/toolchain/previrt
"$userland/make-initrd" "$work/initrd" /run-me="$here/guest/endurance.sh" \
    /bin/endurance="$build/tests/linux/endurance"
mkdir "$work/temporary" "$work/cache"
export TMPDIR=$work/temporary PREVIRT_CACHE=$work/cache
options=(--initrd "$work/initrd" --memory 128M --timeout 1800)
[[ $on != *-isolate ]] || options+=(--isolate)

begin() { # SEED
    local start=$EPOCHREALTIME status=0
    "$previrt" run --on "${on%-isolate}" "$kernel/bzImage" "${options[@]}" --stats "$work/stats.$1.json" \
        --append "quiet endurance_divisor=$divisor endurance_seed=$1" </dev/null 2>"$work/messages.$1" |
        tr -d '\r' >"$work/console.$1" || status=$?
    echo "$status $(awk "BEGIN { print $EPOCHREALTIME - $start }")" >"$work/end.$1"
}
seeds=$(seq 1001 $((1000 + guests)))
for seed in $seeds; do
    begin "$seed" &
done
wait

failed=0
fail() { # SEED TEXT
    echo "guest $1: FAILED: $2"
    cat "$work/console.$1" "$work/messages.$1"
    failed=1
}
for seed in $seeds; do
    read -r status seconds <"$work/end.$seed"
    if [ "$status" -ne 0 ]; then
        fail "$seed" "status $status"
    elif [ "$(grep -ao 'seed [0-9]*' "$work/console.$seed" | sort | uniq -c | xargs)" != "2 seed $seed" ]; then
        fail "$seed" "its console does not show its seed twice, and no other"
    elif ! grep -q "^endurance: nothing was lost, seed $seed$" "$work/console.$seed"; then
        fail "$seed" "something was lost"
    elif ! python3 "$here/check_stats.py" "$work/stats.$seed.json" "$kernel/previrt.json" >"$work/checked"; then
        fail "$seed" "$(cat "$work/checked")"
    fi
    echo "$seconds" >>"$work/seconds"
done
if pgrep -f "previrt run .*$work/initrd" || [ -n "$(find "$TMPDIR" "$PREVIRT_CACHE" -mindepth 1)" ]; then
    echo "many: FAILED: processes or files are left"
    failed=1
fi
[ "$failed" -eq 0 ] || exit 1
echo "many: $guests guests at once, each 1/$divisor of the endurance run: nothing was lost," \
    "$(sort -n "$work/seconds" | awk '{ s[NR] = $1 } END { printf "%.0f to %.0f s, half within %.0f s", s[1], s[NR], s[int((NR + 1) / 2)] }')"
