#!/usr/bin/env bash
# killed.sh ON KERNEL-DIRECTORY PREVIRT
# A signal to the monitor, at any time of a guest's boot or work, ends the guest and leaves nothing: no process, no
# file; and the terminal as it was, but for SIGKILL.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
on=$1 kernel=$2 previrt=$3
printf '#!/bin/sh\necho the guest is up\nwhile :; do :; done\n' >"$work/run-me"
chmod +x "$work/run-me"
"$userland/make-initrd" "$work/initrd" /run-me="$work/run-me"
mkdir "$work/temporary" "$work/cache"
export TMPDIR=$work/temporary PREVIRT_CACHE=$work/cache
isolate=()
[[ $on != *-isolate ]] || isolate=(--isolate)
run=("$previrt" run --on "${on%-isolate}" "${isolate[@]}" "$kernel/bzImage" --initrd "$work/initrd" --timeout 120)

failed=0
check() { # NAME SESSION STATUS WANTED ...
    local name=$1 session=$2 status=$3
    shift 3
    # Those that end with it may take a moment; that init has not waited for them yet is none of ours.
    for _ in 1 2 3 4 5 6 7 8 9 10; do
        pgrep -r D,R,S,T -s "$session" >/dev/null || break
        sleep 0.05
    done
    if [[ " $* " != *" $status "* ]] || pgrep -r D,R,S,T -s "$session" ||
        [ -n "$(find "$TMPDIR" "$PREVIRT_CACHE" -mindepth 1)" ]; then
        echo "FAILED: $name: status $status instead of $*, or processes or files are left"
        cat "$work/output"
        failed=1
    else
        echo "passed: $name: status $status"
    fi
}

# Before it has a guest, SIGTERM ends it like any program.
for signal in KILL TERM; do
    [ $signal = KILL ] && wanted=137 || wanted="1 143"
    for delay in 0.01 0.05 0.1 0.2 0.4 0.8 1.6 up; do
        setsid "${run[@]}" </dev/null >"$work/output" 2>&1 &
        process=$!
        # Until then it is this shell, and would remove what this shell has made.
        while [ "$(cat "/proc/$process/comm" 2>/dev/null)" = "$(cat "/proc/$$/comm")" ]; do
            sleep 0.01
        done
        if [ $delay = up ]; then
            until grep -q 'the guest is up' "$work/output"; do
                kill -0 "$process" 2>/dev/null || break
                sleep 0.1
            done
            [ $signal = KILL ] || wanted=1
        else
            sleep "$delay"
        fi
        kill -$signal "$process" || true
        status=0
        wait "$process" 2>/dev/null || status=$?
        # shellcheck disable=SC2086
        check "$signal, $delay" "$process" "$status" $wanted
    done
done

python3 - "${run[@]}" <<'PYTHON' || failed=1
import os, pty, signal, subprocess, sys, termios

def state(terminal):
    return termios.tcgetattr(terminal)

failed = False
for name, end in (("SIGTERM", lambda run, keys: run.send_signal(signal.SIGTERM)),
                  ("SIGINT", lambda run, keys: run.send_signal(signal.SIGINT)),
                  ("SIGHUP", lambda run, keys: run.send_signal(signal.SIGHUP)),
                  ("Ctrl-]", lambda run, keys: os.write(keys, b"\x1d"))):
    keys, terminal = pty.openpty()
    before = state(terminal)
    run = subprocess.Popen(sys.argv[1:], stdin=terminal, stdout=terminal, stderr=terminal, start_new_session=True)
    shown = b""
    while b"the guest is up" not in shown:
        shown += os.read(keys, 4096)
    raw = state(terminal) != before
    end(run, keys)
    os.set_blocking(keys, False)
    while True:
        try:
            run.wait(0.1)
            break
        except subprocess.TimeoutExpired:
            try:
                shown += os.read(keys, 65536)
            except BlockingIOError:
                pass
    restored = state(terminal) == before
    print(f"{'passed' if raw and restored and run.returncode == 1 else 'FAILED'}: {name}: status {run.returncode}, "
          f"the terminal was {'raw' if raw else 'NOT raw'} and is {'as before' if restored else 'NOT as before'}")
    failed = failed or not (raw and restored and run.returncode == 1)
    os.close(keys)
    os.close(terminal)
sys.exit(failed)
PYTHON
exit "$failed"
