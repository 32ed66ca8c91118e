# shellcheck shell=bash
# Shared by the tests of disks, behind common.sh. They set `previrt`, `on`, `build` and the `options` of each run.
test=$(basename "$0" .sh)

fail() { # MESSAGE
    cat "$work/console" "$work/messages" 2>/dev/null || true
    echo "$test: FAILED: $1"
    exit 1
}
step() { # WHAT COUNT-OF-RIGHTS OPTION ...
    local what=$1 count=$2
    shift 2
    make_program_initrd "$build" disk "disk $what /dev/nvme0n1"
    run_guest "$previrt" "$on" "${options[@]}" "$@"
    require_right "$test" disk "$count"
}
# The first COUNT blocks hold what the guest's program writes there.
has_blocks() { # FILE COUNT
    python3 - "$1" "$2" <<'PYTHON'
import sys
path, count = sys.argv[1], int(sys.argv[2])
with open(path, "rb") as file:
    for number in range(count):
        if file.read(4096) != b"block %09d\n" % number * 256:
            sys.exit(f"block {number} is not in the file")
PYTHON
}
# A guest, `process`, writes to the disk and says so; its console is in $work/console.
start_until_acknowledged() { # DISK-OPTION BLOCK
    local isolate=()
    [[ $on != *-isolate ]] || isolate=(--isolate)
    : >"$work/console" # the shell below may open it late, and it holds another guest's words until then
    "$previrt" run --on "${on%-isolate}" "${isolate[@]}" "${options[@]}" --disk "$1" </dev/null \
        >"$work/console" 2>"$work/messages" &
    process=$!
    until grep -q "disk: acknowledged $2" "$work/console"; do
        kill -0 $process 2>/dev/null || fail "the guest has ended"
        sleep 0.02
    done
}
# Ends it without warning. `last` is the last block that the guest was told of: the last line may be cut.
kill_monitor() {
    kill -KILL $process
    wait $process 2>/dev/null || true
    last=$(sed -n 's/\r*$//; s/^disk: acknowledged \([0-9]*\)$/\1/p' "$work/console" | head -n -1 | tail -n 1)
}
