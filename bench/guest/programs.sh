#!/bin/sh
# Programs from start to end, in a tree of Debian's: $programs names them, with a comma behind each. Each runs between two lines:
# program begins NAME, program ended NAME STATUS. In a guest it is the first process; in a chroot, or gVisor, it is not.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8
if [ $$ = 1 ] && [ "$place" = guest ]; then
    mount -t proc none /proc
    mount -t sysfs none /sys
    [ -c /dev/null ] || mount -t devtmpfs none /dev
    mount -t tmpfs -o size=90% none /tmp
    exec </dev/console >/dev/console 2>&1
fi
[ "$place" = gvisor ] || busybox ip link set lo up
chmod 1777 /tmp

compile() {
    cp -r /usr/src/lua5.4 compile && make -C compile/src -s linux CFLAGS='-O2 -DLUA_USE_LINUX -DLUA_COMPAT_5_3' LIBS='-lm -ldl'
}

sqlite() {
    sqlite3 -batch base.db "
CREATE TABLE part (id INTEGER PRIMARY KEY, name TEXT UNIQUE, weight REAL, kind INTEGER);
BEGIN;
WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 200000)
INSERT INTO part SELECT i, printf('part %08x', i * 2654435761 % 4294967296), i / 7.0, i % 97 FROM n;
COMMIT;
CREATE INDEX by_kind ON part(kind, weight);
SELECT sum(length(name)) FROM (SELECT kind, max(name) AS name FROM part GROUP BY kind);" || return
    # Each its own transaction, with a journal.
    for i in $(seq 1000); do echo "UPDATE part SET weight = weight + 1 WHERE id % 1000 = $i;"; done | sqlite3 -batch base.db || return
    [ "$(sqlite3 -batch base.db 'PRAGMA integrity_check')" = ok ]
}

git_history() {
    git init -q history && cd history || return
    git config user.name A && git config user.email a@a || return
    for i in $(seq 60); do
        mkdir -p "d$((i % 7))" && seq $i $((i * 37 % 1000 + i)) >"d$((i % 7))/f$((i % 31))" && git add -A && git commit -qm "change $i" || return
    done
    git repack -adfq --threads=1 && git fsck --full --strict && git clone -q --no-local . ../clone
}

redis() {
    redis-server --bind 127.0.0.1 --save '' --daemonize yes --dir "$PWD" >/dev/null
    until redis-cli ping 2>/dev/null | grep -q PONG; do sleep 0.02; done
    redis-benchmark -q -n 20000 -c 20 -t set,get,lpush,lrange_100 >/dev/null
    result=$?
    redis-cli shutdown nosave
    return $result
}

kernel() {
    mkdir kernel && make -C /usr/src/linux -s O="$PWD/kernel" ARCH=x86_64 tinyconfig && make -C kernel -s ARCH=x86_64 vmlinux
}

mkdir -p /tmp/programs
for name in $(echo "$programs" | tr , ' '); do
    mkdir "/tmp/programs/$name"
    cd "/tmp/programs/$name" || exit
    command=$name
    [ "$name" != git ] || command=git_history
    echo "program begins $name"
    "$command" >said 2>&1
    echo "program ended $name $?"
    tail -n 5 "/tmp/programs/$name/said"
    cd /
    rm -rf "/tmp/programs/$name"
done
echo 'all programs have ended'
[ "$place" != guest ] || busybox poweroff -f
