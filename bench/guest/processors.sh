#!/bin/sh
# The rows of `previrt bench processors`: $processors_rows names them, with a comma behind each. $processors_program (processors.c) prints
# the line of a row that is done. A row that fails has a line: processors failed ROW STATUS.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8
[ "$processors_place" != machine ] || . "${0%/*}/machine.sh"
trap 'rm -rf "$TMPDIR"' EXIT
trap 'exit 1' INT TERM
TMPDIR=$(mktemp -d /dev/shm/processors.XXXXXX) && export TMPDIR || exit

measure() { "$processors_program" "$@"; }
count=$(measure count)
echo "$count"
count=${count##* }

do_row() {
    case $1 in
    hackbench) measure command hackbench hackbench -g 2 -l 200 ;;
    compile)
        # The same file, eight times.
        measure command compile sh -c "seq 8 | xargs -P $count -I{} gcc -O2 -c -o $TMPDIR/{}.o ${0%/*}/processors.c" ;;
    kernel) measure command kernel make -s "-j$count" -C "$processors_source" "O=$TMPDIR/kernel" ARCH=x86_64 tinyconfig vmlinux ;;
    *) measure row "$1" "$processors_seconds" ;;
    esac
}

for row in $(echo "$processors_rows" | tr , ' '); do
    do_row "$row" || echo "processors failed $row $?"
done
echo 'processors: all rows are done'
[ "$processors_place" != machine ] || busybox poweroff -f
