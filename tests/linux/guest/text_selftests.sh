#!/bin/sh
# Runs Linux's own tests of what changes kernel code, in a guest. text-selftests.sh has packed them, and in /parts the names of
# those to run. Prints `verdict TEST: RESULT`, and the end of the log of each test that fails.
mount -t tracefs none /sys/kernel/tracing
mount -t debugfs none /sys/kernel/debug
dmesg -n 1
dmesg -c >/dev/null
# The tests call some of these by their paths, and busybox lacks the others.
ln -sf /gnu/modprobe /sbin/modprobe
ln -sf /gnu/stat /gnu/chrt /bin

show_end() { # of a log
    tail -n 25 "$1" | cut -c 1-160 | sed 's/^/log: /'
}

ftrace() { # PATH ...
    local tests line log
    cd /selftests/ftrace || return
    tests=$(find "$@" -name '*.tc' | sort)
    # In the order in which ftracetest runs them: first all, then some of them once more.
    set -- $tests $(grep -l '^#[ \t]*flags:.*instance' $tests | sed 's/$/:instance/')
    ./ftracetest -l /tmp/logs $tests | while read -r line; do
        case $line in
        \[[0-9]*)
            echo "verdict ftrace/${1#test.d/}: $(echo "$line" | sed 's/.*\[\([A-Z]*\)\]$/\1/')"
            shift
            ;;
        esac
    done
    # Logs of tests that have passed are removed. Those of others end as their tests did.
    for log in /tmp/logs/*-log.*; do
        [ ! -f "$log" ] || show_end "$log"
    done
}

livepatch() { # FILE
    local status
    cd /selftests/livepatch || return
    PATH=/gnu:$PATH bash "./$1" >/tmp/log 2>&1
    status=$?
    sed -n "s|^TEST: \(.*\) \.\.\. \(.*\)|verdict livepatch/$1: \1: \2|p" /tmp/log
    echo "verdict livepatch/$1: status $status"
    [ "$status" -eq 0 ] || show_end /tmp/log
}

static_keys() {
    cd /selftests/static_keys || return
    echo "verdict static_keys: $(PATH=/gnu:$PATH sh test_static_keys.sh 2>&1)"
}

bpf() {
    modprobe test_bpf
    dmesg | sed -n "s/.*test_bpf: \(.*Summary: .*\)/verdict bpf: \1/p; s/.*\(test_bpf: .*FAIL [^,]*\)/log: \1/p"
    modprobe -r test_bpf
}

paths=
for part in $(cat /parts); do
    case $part in
    ftrace) paths="$paths test.d" ;;
    ftrace/*) paths="$paths test.d/${part#ftrace/}" ;;
    livepatch) for test in /selftests/livepatch/test-*.sh; do livepatch "${test##*/}"; done ;;
    livepatch/*) livepatch "${part#livepatch/}" ;;
    *) "$part" ;;
    esac
    dmesg -c >>/tmp/messages # or the next part's push them out
done
[ -z "$paths" ] || ftrace $paths
dmesg >>/tmp/messages
echo "verdict kernel log: $(grep -cE 'BUG:|WARNING:|Oops|unchecked MSR' /tmp/messages) faults"
grep -A 20 -E 'BUG:|WARNING:|Oops|unchecked MSR' /tmp/messages | sed 's/^/log: /'
