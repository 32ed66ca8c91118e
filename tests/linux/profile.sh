#!/usr/bin/env bash
# profile.sh ON KERNEL-DIRECTORY BUILD-DIRECTORY
# previrt profile names the kernel's functions for which the VMM worked; previrt top watches a guest that runs.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
on=$1 kernel=$2 build=$3
previrt=$build/toolchain/previrt
name=profile-$$
fail() {
    echo "profile: FAILED: $1"
    exit 1
}
cleanup() {
    [ -z "${guest:-}" ] || kill "$guest" 2>/dev/null || true
    rm -rf "$work"
}
trap cleanup EXIT

make_program_initrd "$build" forks "forks 300"
profile() { # OPTION ...
    status=0
    "$previrt" profile --on "$on" "$kernel/bzImage" --initrd "$work/initrd" --append quiet --timeout 350 "$@" </dev/null \
        >"$work/console" 2>"$work/messages" || status=$?
    tail -n 60 "$work/messages"
}

profile --json "$work/profile.json" --folded "$work/folded" --svg "$work/flames.svg" --top 15
[ "$status" -eq 0 ] || fail "status $status"
grep -q '^forks: right' "$work/console" || fail 'the guest did not end its work'
"$here/check_profile.py" "$work/profile.json" "$work/folded" "$work/flames.svg" "$kernel/build/System.map" || fail 'a file is wrong'
grep -qE '^ +[0-9]+ +[0-9]+ +[0-9.]+ %  (site_call|crossing|true_fault) .*\+0x' "$work/messages" || fail 'the table names nothing'

# The same names from a System.map, and from the kernel's own tables.
profile --symbols "$kernel/build/System.map" --by cycles --text "$work/table"
grep -qE 'page_table_write +[a-z_0-9.]+\+0x' "$work/table" || fail 'a System.map names nothing'
head -c 1000 /dev/urandom | tr -d '\n' >"$work/damaged"
profile --symbols "$work/damaged"
[ "$status" -eq 2 ] && [ "$(wc -l <"$work/messages")" -eq 1 ] && grep -q "^previrt: $work/damaged:1: " "$work/messages" ||
    fail "damaged symbols: status $status"
mkdir "$work/alone"
cp "$kernel/bzImage" "$work/alone/bzImage"
status=0
"$previrt" profile --on "$on" "$work/alone/bzImage" --initrd "$work/initrd" --append quiet --timeout 350 </dev/null \
    >/dev/null 2>"$work/messages" || status=$?
[ "$status" -eq 0 ] || fail "without symbols: status $status"
grep -qE 'page_table_write +copy_page_range\+0x[0-9a-f]+$' "$work/messages" || fail 'the kernel itself names nothing'

# A guest that runs.
make_program_initrd "$build" forks "forks 1000000"
"$previrt" run --name "$name" --on "$on" "$kernel/bzImage" --initrd "$work/initrd" --append quiet --timeout 350 </dev/null \
    >"$work/console" 2>&1 &
guest=$!
for _ in $(seq 100); do
    "$previrt" list | grep -q "^$name .*$on" && break
    sleep 0.1
done
sleep 5
"$previrt" top "$name" --interval 0.5 --count 3 >"$work/top" || fail "top: status $?"
cat "$work/top"
[ "$(grep -c "^$name on $on, a second:" "$work/top")" -eq 3 ] || fail 'top did not look three times'
grep -qE '^ +[0-9.]+  site_call$' "$work/top" || fail 'top has no rate of a cause'
grep -qE '^ +[0-9.]+  site_call +page_table_write +[a-z_0-9.]+\+0x' "$work/top" || fail 'top names nothing'
for _ in 1 2 3; do # clients at once, and one that says nothing
    "$previrt" top "$name" --interval 0.1 --count 5 >/dev/null &
    clients+=($!)
done
for client in "${clients[@]}"; do
    wait "$client" || fail 'one of several clients failed'
done
"$previrt" stop "$name" --timeout 5 || true
wait "$guest" || true
guest=
status=0
"$previrt" top "$name" 2>"$work/messages" || status=$?
[ "$status" -eq 2 ] && grep -q 'no guest of this name' "$work/messages" || fail "top without a guest: status $status"
echo 'profile: all right'
