#!/usr/bin/env bash
# network.sh ON user|switch KERNEL-DIRECTORY BUILD-DIRECTORY
# Traffic of a guest's network card, each end checking what it gets: with a program of this machine by `--net user`, or
# between two guests at a switch.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
on=$1 how=$2 kernel=$3 build=$4
require_kernels "$kernel"
previrt=$build/toolchain/previrt traffic=$build/tests/linux/traffic
amount=${AMOUNT:-50000000}
"$userland/make-initrd" "$work/initrd" /run-me="$here/guest/network.sh" /bin/traffic="$traffic" \
    /bin/use-lease="$here/guest/use-lease"
options=(--initrd "$work/initrd" --timeout 300 --verbose)
started=()
trap 'kill "${started[@]}" 2>/dev/null || true; wait; rm -rf "$work"' EXIT

# Its first line says that it listens.
start() { # OUTPUT COMMAND ...
    local output=$1
    shift
    "$@" >"$output" 2>&1 &
    started+=($!)
    for _ in $(seq 100); do
        [ ! -s "$output" ] || return 0
        kill -0 $! 2>/dev/null || break
        sleep 0.1
    done
    cat "$output"
    echo "network: FAILED: $1 did not start"
    exit 1
}

if [ "$how" = user ]; then
    port=$((20000 + $$ % 20000))
    start "$work/peer" "$traffic" serve "127.0.0.1:$port"
    net=user command_line="peer=10.0.2.2:$port"
else
    start "$work/switch" "$previrt" switch "$work/socket"
    isolate=()
    [[ $on != *-isolate ]] || isolate=(--isolate)
    "$previrt" run --on "${on%-isolate}" "$kernel/bzImage" "${options[@]}" "${isolate[@]}" --net "switch=$work/socket" \
        --append 'quiet own=10.9.0.1' </dev/null >"$work/peer" 2>&1 &
    peer=$!
    started+=("$peer")
    # Behind its peer, the switch ends, which a guest sees.
    (while kill -0 "$peer" 2>/dev/null; do sleep 0.5; done; kill "${started[0]}" 2>/dev/null) &
    net=switch=$work/socket command_line='own=10.9.0.2 peer=10.9.0.1'
fi
run_guest "$previrt" "$on" "$kernel/bzImage" "${options[@]}" --stats "$work/stats.json" --net "$net" \
    --append "quiet $command_line amount=$amount"
if [ "$status" -ne 0 ] || ! grep -q '^network: all passed' "$work/console"; then
    cat "$work/peer"
    echo "network: FAILED with status $status"
    exit 1
fi
python3 "$here/check_stats.py" "$work/stats.json" "$kernel/previrt.json"
