#!/usr/bin/env bash
# programs-of-32-bits.sh ON KERNEL-DIRECTORY PREVIRT PROCESSORS ...
# A program of 32 bits, static and dynamic, beside the same one of 64 bits: alone, and all of them at the same time.
source "$(dirname "${BASH_SOURCE[0]}")/common.sh"
on=$1 kernel=$2 previrt=$3
shift 3
build() { # NAME OPTION ...
    local name=$1
    shift
    gcc-12 -O2 -std=gnu11 -Wall -Wextra -Wconversion -Wshadow -Werror -no-pie -pthread "$@" -o "$work/$name" \
        "$here"/guest/parts.c "$here"/guest/programs_of_32_bits/{main,threads,programs}.c "${more[@]}"
}
more=()
build 64 -static
for part in calls segments signals; do more+=("$here/guest/programs_of_32_bits/$part.c"); done
# Debian's gcc finds these headers itself only with gcc-multilib, which it cannot have beside other compilers.
headers=(-idirafter "/usr/include/$(gcc-12 -print-multiarch)")
build static -m32 -msse2 -static "${headers[@]}"
build dynamic -m32 -msse2 "${headers[@]}"
libraries=$(dirname "$(gcc-12 -m32 -print-file-name=libc.so.6)")
cat >"$work/run-me" <<'END'
#!/bin/sh
/static /64
/dynamic /64
/static /dynamic >/tmp/static &
/dynamic /64 >/tmp/dynamic &
/64 /static >/tmp/64 &
wait
cat /tmp/static /tmp/dynamic /tmp/64
END
chmod +x "$work/run-me"
"$userland/make-initrd" "$work/initrd" /run-me="$work/run-me" /static="$work/static" /dynamic="$work/dynamic" /64="$work/64" \
    /lib/ld-linux.so.2="$libraries/ld-linux.so.2" /lib32/libc.so.6="$libraries/libc.so.6"
for PREVIRT_PROCESSORS; do
    run_guest "$previrt" "$on" "$kernel/bzImage" --initrd "$work/initrd" --append quiet --timeout 120
    require_right programs-of-32-bits "32 bits" 20
    require_right programs-of-32-bits "64 bits" 2
done
