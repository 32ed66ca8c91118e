# shellcheck shell=bash
# Shared by the tests of this directory. `work` is a directory of the test's own, removed at its end.
set -euo pipefail
here=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
userland=$here/../../guest/userland
# Of this user's, for all checkouts.
# shellcheck disable=SC2034
cache=${PREVIRT_CACHE:-${XDG_CACHE_HOME:-$HOME/.cache}/previrt}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

# Leaves $work/figures.json.
run_bench() { # BENCH OPTION ...
    local status=0
    # shellcheck disable=SC2154 # the test's
    "$previrt" bench "$@" --json "$work/figures.json" 2>"$work/messages" >"$work/table" || status=$?
    cat "$work/messages" "$work/table"
    [ "$status" -eq 0 ] || { echo "bench $1: FAILED with status $status"; exit 1; }
}

# The source that a kernel was built from.
source_of() {
    sed -n "s/.*'-C' '\([^']*\)'.*/\1/p" "$1/make"
}

# Whether the guest is on a KVM that interprets level 0. `needs`, by which ctest starts each test, says what kind it is.
is_interpreted() { # ON
    [[ $1 = @(kvm|kvm-isolate) ]] && [ "$PREVIRT_KVM_KIND" = interpreted ]
}

# $work/initrd: a guest that runs COMMANDS, with the program NAME of guest/.
make_program_initrd() { # BUILD-DIRECTORY NAME COMMANDS
    printf '#!/bin/sh\n%s\n' "$3" >"$work/run-me"
    chmod +x "$work/run-me"
    "$userland/make-initrd" "$work/initrd" /run-me="$work/run-me" "/bin/$2=$1/tests/linux/$2"
}

# Runs `previrt run --on ON OPTION ...`, where ON may also be kvm-isolate or process-isolate: with --isolate. The guest has
# PREVIRT_PROCESSORS processors. Leaves `status`, and in $work/console and $work/messages what the guest and previrt said.
run_guest() { # PREVIRT ON OPTION ...
    local previrt=$1 on=$2
    shift 2

    [[ $on != *-isolate ]] || set -- --isolate "$@"
    [ -z "${PREVIRT_PROCESSORS:-}" ] || set -- --cpus "$PREVIRT_PROCESSORS" "$@"
    status=0
    "$previrt" run --on "${on%-isolate}" "$@" </dev/null 2>"$work/messages" |
        sed -u 's/\r//g' >"$work/console" || status=$?
    cat "$work/console" "$work/messages"
}

# Behind run_guest: the status is 0, and the program says COUNT times that a part of it was right.
require_right() { # NAME-OF-TEST NAME COUNT
    local right
    right=$(grep -c "^$2: .*: right" "$work/console" || true)
    if [ "$status" -ne 0 ] || [ "$right" -ne "$3" ]; then
        echo "$1: FAILED with status $status, $right of $3 right"
        exit 1
    fi
}

# Links a kernel once more, its vmlinux changed by PROGRAM VMLINUX: $work/bzImage. What PROGRAM says is shown.
relink() { # KERNEL-DIRECTORY PREVIRT PROGRAM
    relinked=$1
    # What the build directory now holds is not the kernel: a later build links it anew.
    trap 'rm -rf "$work" "$relinked/build/vmlinux" "$relinked/build/arch/x86/boot/bzImage"' EXIT
    # Takes previrt's place in the kernel's build: sort-sites VMLINUX.
    printf '#!/bin/sh\n"%s" "$@" && exec "%s" "$2" >&2\n' "$2" "$3" >"$work/previrt"
    chmod +x "$work/previrt"
    rm -f "$relinked/build/vmlinux"
    PREVIRT="$work/previrt" "$relinked/make" bzImage >"$work/log" 2>&1 || { tail -n 20 "$work/log"; exit 1; }
    grep "^$(basename "$3"): " "$work/log"
    cp "$relinked/build/arch/x86/boot/bzImage" "$work/bzImage"
    if cmp -s "$work/bzImage" "$relinked/bzImage"; then
        echo "the changed kernel is the same file as the other one"
        exit 1
    fi
}
