#!/usr/bin/env bash
# processor-matrix.sh BUILD-DIRECTORY KERNEL-DIRECTORY ...
# Each kernel in each place of this machine with 1, 2, 4 and 16 processors: its programs, its own selftests, and the endurance run. For hours.
# PREVIRT_PLACES, PREVIRT_COUNTS, PREVIRT_TESTS: other places, numbers of processors, tests. Says a line for each run, with its seconds.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
build=$1
shift
needs=$build/tests/machine/needs
logs=$(mktemp -d)
failed=0
run() { # NAME PLACE COMMAND ...
    local name=$1 place=$2 status=0
    shift 2
    SECONDS=0
    "$needs" "$place" -- "$@" >"$logs/$name" 2>&1 || status=$?
    case $status in
    0) echo "passed: $name: $SECONDS s" ;;
    77) echo "skipped: $name: $(tail -n 1 "$logs/$name")" ;;
    *)
        echo "FAILED: $name: $SECONDS s: $logs/$name"
        failed=1
        ;;
    esac
}

for kernel in "$@"; do
    name=$(basename "$kernel")
    for count in ${PREVIRT_COUNTS:-1 2 4 16}; do
        export PREVIRT_PROCESSORS=$count PREVIRT_VERDICTS=$logs/$name-$count-verdicts
        # The other places compare the file with the one that ran there.
        for place in bare ${PREVIRT_PLACES:-process process-isolate kvm kvm-isolate kvm-nested xen xen-domu}; do
            for test in ${PREVIRT_TESTS:-boot selftests endurance}; do
                case $test in
                boot) set -- "$here/boot.sh" "$place" "$kernel" "$build" ;;
                selftests) set -- "$here/selftests.sh" "$build/toolchain/previrt" "$kernel" "bare:$kernel/bzImage" "$place:$kernel/bzImage" ;;
                endurance) set -- "$here/endurance.sh" "$place" "$kernel" "$build" ;;
                *) echo "no test '$test'" >&2; exit 2 ;;
                esac
                [ "$place" != bare ] || [ "$test" = boot ] || continue
                run "$name-$place-$count-$test" "$place" "$@"
            done
        done
    done
done
[ "$failed" -eq 0 ] || exit 1
rm -rf "$logs"
