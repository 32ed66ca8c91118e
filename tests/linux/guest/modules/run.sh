#!/bin/sh
# Loads modules and unloads them; those that are not right are refused, or loaded, as the command line's judge= says.
failed=0
fail() {
    echo "modules: FAILED: $1"
    failed=1
}
complained() { # NAME: the kernel has named it, and what to do
    dmesg | grep -q "$1: not prepared for an in-place VMM, or damaged: build it by the make script of previrt build-linux"
}
place() {
    dmesg | sed -n 's/.*module: at \([0-9a-f]*\).*/\1/p' | tail -n 1
}

places=
for name in prepared other prepared other; do
    insmod "/$name.ko" || fail "$name does not load"
    grep -q "^$name " /proc/modules || fail "$name is not there"
    places="$places $(place)"
    rmmod "$name" || fail "$name does not go"
done
echo "modules: at$places"
dmesg | grep -E 'does not obey|counts wrong' && fail 'a module does the wrong thing'

# FILE:NAME-OF-THE-MODULE
for module in unprepared:unprepared siteless:siteless damaged:prepared version:prepared; do
    file=/${module%:*}.ko name=${module#*:}
    if grep -q 'judge=loaded' /proc/cmdline; then
        insmod "$file" || fail "$file does not load"
        rmmod "$name"
        continue
    fi
    insmod "$file" 2>/tmp/error && fail "$file loads"
    cat /tmp/error
    complained "$name" || fail "the kernel does not name $name"
    dmesg -c >/dev/null
done
insmod /prepared.ko || fail 'the guest loads nothing any more'
[ "$failed" = 1 ] || echo 'modules: all passed'
exit "$failed"
