// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

// Instructions of the real processor. Level 3 may execute all but rdmsr.
// NOLINTBEGIN(misc-const-correctness): asm writes.
namespace previrt::processor {

inline std::uint64_t read_time_stamp() {
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    asm volatile("rdtsc" : "=a"(low), "=d"(high));
    return (std::uint64_t{high} << 32U) | low;
}

inline std::uint64_t read_msr(std::uint32_t number) {
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    asm volatile("rdmsr" : "=a"(low), "=d"(high) : "c"(number));
    return (std::uint64_t{high} << 32U) | low;
}

// CR4.OSXSAVE must be set.
inline std::uint64_t read_xcr0() {
    std::uint32_t low = 0;
    std::uint32_t high = 0;
    asm volatile("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
    return (std::uint64_t{high} << 32U) | low;
}

inline std::uint64_t read_fs_base() {
    std::uint64_t base = 0;
    asm volatile("rdfsbase %0" : "=r"(base));
    return base;
}

inline std::uint64_t read_gs_base() {
    std::uint64_t base = 0;
    asm volatile("rdgsbase %0" : "=r"(base));
    return base;
}

// Bits 32 to 95 of the product.
inline std::uint64_t multiply_and_shift_32(std::uint64_t left, std::uint64_t right) {
    std::uint64_t low = 0;
    std::uint64_t high = 0;
    asm("mulq %3" : "=a"(low), "=d"(high) : "a"(left), "r"(right));
    return (high << 32U) | (low >> 32U);
}

} // namespace previrt::processor
// NOLINTEND(misc-const-correctness)
