// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

// Linux's system calls, as far as the VMM needs them.
namespace previrt::process {

enum SystemCall : std::uint16_t {
    call_write = 1,
    call_close = 3,
    call_mmap = 9,
    call_mprotect = 10,
    call_munmap = 11,
    call_rt_sigaction = 13,
    call_ioctl = 16,
    call_madvise = 28,
    call_dup2 = 33,
    call_getpid = 39,
    call_clone = 56,
    call_kill = 62,
    call_sigaltstack = 131,
    call_modify_ldt = 154,
    call_prctl = 157,
    call_setrlimit = 160,
    call_futex = 202,
    call_timer_create = 222,
    call_timer_settime = 223,
    call_clock_gettime = 228,
    call_exit_group = 231,
    call_seccomp = 317,
    call_close_range = 436,
};

// Of the 32-bit table, which `int $0x80` calls.
constexpr std::uint16_t call_32_set_thread_area = 243;

// The tables of calls, as <linux/audit.h> counts them.
constexpr std::uint32_t architecture_32 = 0x40000003;
constexpr std::uint32_t architecture_64 = 0xc000003e;

// Of call_prctl: a call from outside this range becomes a signal.
constexpr std::uint64_t set_user_dispatch = 59;
constexpr std::uint64_t dispatch_on = 1;

enum Protection : std::uint32_t { may_read = 1, may_write = 2, may_execute = 4 };
enum MapFlags : std::uint32_t {
    map_shared = 1,
    map_private = 2,
    map_fixed = 0x10,
    map_anonymous = 0x20,
    map_populate = 0x8000
};

struct CallArguments {
    std::uint64_t first = 0;
    std::uint64_t second = 0;
    std::uint64_t third = 0;
    std::uint64_t fourth = 0;
    std::uint64_t fifth = 0;
    std::uint64_t sixth = 0;
};

template <typename Value>
std::uint64_t address_of(Value* place) {
    return reinterpret_cast<std::uint64_t>(place);
}

} // namespace previrt::process
