// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <asm/unistd.h>
#include <cstddef>
#include <cstdint>

// The agent has no C library: a static one is 40 times its size, and each of its pages would delay the start
// of a command.
namespace previrt::agent {

// A system call. Negative: an error number of Linux's. NOLINTBEGIN(misc-const-correctness): asm writes.
inline long call(long number, long first = 0, long second = 0, long third = 0, long fourth = 0,
                 long fifth = 0, long sixth = 0) {
    register long r10 asm("r10") = fourth;
    register long r8 asm("r8") = fifth;
    register long r9 asm("r9") = sixth;
    long result = number;
    asm volatile("syscall"
                 : "+a"(result)
                 : "D"(first), "S"(second), "d"(third), "r"(r10), "r"(r8), "r"(r9)
                 : "rcx", "r11", "memory");
    return result;
}
// NOLINTEND(misc-const-correctness)

inline long address_of(const void* place) {
    return reinterpret_cast<long>(place);
}

inline std::size_t length_of(const char* text) {
    std::size_t length = 0;
    while (text[length] != '\0') {
        ++length;
    }
    return length;
}

} // namespace previrt::agent
