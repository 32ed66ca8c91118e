#!/bin/sh
# Runs in a guest. /sites has a line for each place: KIND PLACE NEXT-PLACE; /uprobes: NAME OFFSET in /bin/probed.
tracing=/sys/kernel/tracing
mount -t tracefs none $tracing
mount -t debugfs none /sys/kernel/debug 2>/dev/null
cd $tracing || exit
echo 8192 >buffer_size_kb

judge() { # NAME STATUS DETAIL
    if [ "$2" = 0 ]; then echo "probes: $1: right"; else echo "probes: $1: wrong: $3"; fi
}
# Processes, pipes, signals, sleep, faults, files.
work() {
    for i in 1 2 3; do
        seq 100 | grep -c 1 >/dev/null
        sh -c 'trap : USR1; kill -USR1 $$; sleep 0.01'
        dd if=/dev/zero of=/tmp/file bs=64k count=16 2>/dev/null
        rm /tmp/file
    done
}
hits() { # BEGIN-OF-EVENT
    awk -v "begin=$1" 'index($1, begin) == 1 { sum += $2 } END { print sum + 0 }' kprobe_profile
}
# A reader that is traced itself would have no end.
count() { # PATTERN
    echo 0 >tracing_on
    grep -c -- "$1" trace
    : >trace
    echo 1 >tracing_on
}
clear_probes() {
    echo 0 >events/kprobes/enable
    : >kprobe_events
    : >trace
}

# ---- the entries of functions: ftrace's trampolines, and kretprobes'
functions="do_sys_openat2 vfs_read vfs_write kernel_clone handle_mm_fault do_exit"
for name in $functions; do
    echo "p:enter_$name $name" >>kprobe_events
    echo "r:leave_$name $name value=\$retval" >>kprobe_events
done
echo 1 >events/kprobes/enable
work
missing=
for name in $functions; do
    [ "$(hits enter_$name)" -gt 0 ] || missing="$missing enter_$name"
    [ $name = do_exit ] || [ "$(hits leave_$name)" -gt 0 ] || missing="$missing leave_$name"
done
judge "entries and returns of functions" "$([ -z "$missing" ]; echo $?)" "never hit:$missing"
clear_probes

# ---- sites. An instruction's effect on the interrupt flag is seen at the next one. A jump in place of a probe would execute
# the instruction without a step.
optimise=/proc/sys/debug/kprobes-optimization
echo 0 >$optimise
number=0
while read -r kind place next; do
    echo "p:${kind}_$number $place sp=%sp" >>kprobe_events 2>/dev/null &&
        echo "p:${kind}_${number}_next $next sp=%sp flags=%flags pushed=+0(%sp)" >>kprobe_events 2>/dev/null
    number=$((number + 1))
done </sites
echo 1 >events/kprobes/enable
work
echo 0 >tracing_on
# Pairs of lines that follow each other, with the stack pointer that the instruction leaves: a probe in a probe is missed.
awk '
function field(name,    value) { value = $0; sub(".* " name "=0x", "", value); sub(/ .*/, "", value); return value }
function low(value,    i, number) {
    for (i = length(value) < 6 ? 1 : length(value) - 5; i <= length(value); ++i)
        number = number * 16 + index("123456789abcdef", substr(value, i, 1))
    return number
}
function enabled(value) { return index("2367abef", substr(value, length(value) - 2, 1)) > 0 && length(value) > 2 }
{
    name = ""
    for (i = 1; i <= NF; ++i)
        if ($i ~ /^(cli|sti|pushf)_[0-9]+(_next)?:$/) { name = substr($i, 1, length($i) - 1); break }
    kind = name; sub(/_.*/, "", kind)
    stack = low(field("sp"))
    if (name == last "_next" && stack == last_stack - (kind == "pushf" ? 8 : 0)) {
        flags = field("flags")
        pushed = field("pushed")
        ++pairs[kind]
        good = kind == "cli" ? !enabled(flags) : kind == "sti" ? enabled(flags) : enabled(flags) == enabled(pushed)
        if (!good && !wrong[kind]++) print "probes: first wrong: " $0
    }
    last = name
    last_stack = stack
}
END {
    for (i = split("cli sti pushf", kinds); i > 0; --i) {
        kind = kinds[i]
        if (pairs[kind] && !wrong[kind]) print "probes: " kind ": right"
        else print "probes: " kind ": wrong: " wrong[kind] + 0 " of " pairs[kind] + 0
    }
}' trace
awk '{ hit += $2 > 0 } END { print "probes on sites and behind them: " NR ", hit: " hit }' kprobe_profile
echo 1 >tracing_on
echo 1 >$optimise
sleep 0.1
work
clear_probes

# ---- probes that a jump replaces. Linux 6.1 does that to no function that returns by a thunk, and to others when all tasks
# have passed a voluntary switch, which may take seconds.
list=/sys/kernel/debug/kprobes/list
number=0
for name in vfs_read vfs_write ksys_read ksys_write do_sys_openat2 handle_mm_fault; do
    offset=6
    while [ $offset -lt 120 ]; do
        if echo "p:jump_$number $name+$offset" >>kprobe_events 2>/dev/null; then
            number=$((number + 1))
            offset=$((offset + 16)) # no jump covers a place with a probe
        fi
        offset=$((offset + 1))
    done
done
echo 1 >events/kprobes/enable
tries=0
until grep -q OPTIMIZED $list || [ $tries -eq 100 ]; do
    sleep 0.1
    tries=$((tries + 1))
done
optimised=$(grep -c OPTIMIZED $list)
before=$(hits jump_)
work
zcat /proc/config.gz | grep -q '^CONFIG_RETHUNK=y' || judge "optimised probes" "$([ "$optimised" -gt 0 ] && [ "$(hits jump_)" -gt "$before" ]; echo $?)" \
    "$optimised of $number are optimised"
clear_probes

# ---- tracers
echo vfs_read vfs_write >set_ftrace_filter
echo function >current_tracer
work
lines=$(count vfs_)
echo nop >current_tracer
: >set_ftrace_filter
judge "the function tracer" "$([ "$lines" -gt 10 ]; echo $?)" "$lines lines"

echo function >current_tracer
work
lines=$(count '<-')
echo nop >current_tracer
judge "every function" "$([ "$lines" -gt 1000 ]; echo $?)" "$lines lines"

echo ksys_read vfs_read >set_graph_function
echo function_graph >current_tracer
work
lines=$(count 'vfs_read() {')
echo nop >current_tracer
: >set_graph_function
judge "the graph tracer" "$([ "$lines" -gt 10 ]; echo $?)" "$lines calls"

: >trace
echo 1 >events/sched/enable
work
lines=$(count sched_switch:)
echo 0 >events/sched/enable
judge "trace events" "$([ "$lines" -gt 10 ]; echo $?)" "$lines lines"

# ---- a program
while read -r name offset; do
    echo "p:$name /bin/probed:$offset" >>uprobe_events
done </uprobes
read -r name offset </uprobes
echo "r:result /bin/probed:$offset value=\$retval" >>uprobe_events
echo 1 >events/uprobes/enable
: >trace
/bin/probed >/tmp/probed
for name in triple result; do
    lines=$(grep -c " $name: " trace)
    judge "uprobe $name" "$([ "$lines" = 10 ]; echo $?)" "$lines of 10"
done
judge "a returned value" "$(grep -q ' result: .*value=0x1b' trace; echo $?)" "none of 27"
echo 0 >events/uprobes/enable
: >uprobe_events
judge "the program" "$(grep -q right /tmp/probed; echo $?)" "$(cat /tmp/probed)"

# Messages about the processor's own weaknesses are no fault of the kernel's.
bad=$(dmesg | grep -vE 'hw-vuln|RETBleed:' | grep -E 'BUG|WARNING|Oops|unchecked MSR')
judge "the kernel's log" "$([ -z "$bad" ]; echo $?)" "$bad"
