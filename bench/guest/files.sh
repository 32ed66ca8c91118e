#!/bin/sh
# The rows of `previrt bench files`: $files_rows names them, with a comma behind each. Each is done between two lines: files begins
# ROW, files ended ROW STATUS. Between them is what fio moved: files moved KIB-READ MILLISECONDS KIB-WRITTEN MILLISECONDS, or the time
# of a whole program, by the place's own clock, because lines may be read late: files took NANOSECONDS.
# A machine finds its disks by their sizes; other places have files for them.
export PATH=/usr/sbin:/usr/bin:/sbin:/bin HOME=/root LC_ALL=C.UTF-8
if [ "$files_place" = machine ]; then
    . "${0%/*}/machine.sh"
    # shellcheck disable=SC2086
    mount $files_mount "$files_folder"
fi
export TMPDIR="$files_folder/temporary" GIT_OPTIONAL_LOCKS=0

device_of_size() { # BYTES
    for entry in /sys/block/*; do
        [ "$(cat "$entry/size")" -ne $(($1 / 512)) ] || echo "/dev/${entry##*/}"
    done
}

case $files_place in
machine | command)
    disk=$(device_of_size "$files_disk_bytes")
    cold=$(device_of_size "$files_cold_bytes")
    direct=1 ;;
*)
    disk=$files_folder/../disk
    cold=$files_folder/../cold
    direct=0 ;;
esac

move() { # FIO-OPTION ...
    said=$(fio --name=row --thread --ioengine=libaio --runtime="$files_seconds" --invalidate=0 --minimal "$@" | tail -n 1)
    [ "$(echo "$said" | cut -d ';' -f 5)" = 0 ] || { echo "$said"; return 1; }
    echo "files moved $(echo "$said" | cut -d ';' -f 6,9,47,50 --output-delimiter=' ')"
}
# The host has the disk's file in its memory.
cached() { move --filename="$disk" --direct=$direct --time_based --norandommap "$@"; }
# It has none of this one, and each part is read once.
third=$((files_cold_bytes / 3 / 1048576 * 1048576))
read_cold() { # NUMBER-OF-THIRD FIO-OPTION ...
    offset=$(($1 * third))
    shift
    move --filename="$cold" --direct=1 --offset=$offset --size=$third "$@"
}

timed() {
    began=$(date +%s%N)
    "$@" || return
    echo "files took $(($(date +%s%N) - began))"
}
find_files() { [ "$(find "$tree" -path "$tree/.git" -prune -o -type f -size +0 -print | wc -l)" -gt 0 ]; }
find_no_change() { [ -z "$(git -c safe.directory='*' -C "$tree" status --porcelain 2>&1 | tee -a /dev/stderr)" ]; }
untar() { mkdir "$files_folder/untarred" && tar -x -f "$files_folder/linux.tar" -C "$files_folder/untarred"; }
compile() { make -s -C "$tree" O="$files_folder/compiled" ARCH=x86_64 tinyconfig >"$TMPDIR/said" 2>&1; }

do_row() {
    tree=$files_folder/linux
    case $1 in
    read_4k_depth_1) cached --rw=randread --bs=4k --iodepth=1 ;;
    read_4k_depth_32) cached --rw=randread --bs=4k --iodepth=32 ;;
    write_4k_depth_1) cached --rw=randwrite --bs=4k --iodepth=1 ;;
    write_4k_depth_32) cached --rw=randwrite --bs=4k --iodepth=32 ;;
    read_1_MiB) cached --rw=read --bs=1m --iodepth=1 ;;
    write_1_MiB) cached --rw=write --bs=1m --iodepth=1 ;;
    write_4k_and_fsync) cached --rw=randwrite --bs=4k --iodepth=1 --fdatasync=1 ;;
    cold_4k_depth_1) read_cold 0 --rw=randread --bs=4k --iodepth=1 ;;
    cold_4k_depth_32) read_cold 1 --rw=randread --bs=4k --iodepth=32 ;;
    cold_1_MiB) read_cold 2 --rw=read --bs=1m --iodepth=1 ;;
    find) timed find_files ;;
    git_status | git_status_again) timed find_no_change ;;
    untar) timed untar ;;
    compile) timed compile ;;
    esac
}

for row in $(echo "$files_rows" | tr , ' '); do
    echo "files begins $row"
    sleep 0.2 # the line's reader notes the processor time that was used so far
    do_row "$row"
    echo "files ended $row $?"
done
echo 'files: all rows are done'
[ "$files_place" != machine ] || busybox poweroff -f
