// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt {

enum : std::uint8_t { segment_es, segment_cs, segment_ss, segment_ds, segment_fs, segment_gs };

// The real register. It holds the guest's selector, except CS and SS.
inline std::uint16_t read_segment(unsigned segment) {
    std::uint16_t selector = 0; // NOLINT(misc-const-correctness): asm writes it
    switch (segment) {
    case segment_es:
        asm volatile("mov %%es, %0" : "=r"(selector));
        break;
    case segment_ds:
        asm volatile("mov %%ds, %0" : "=r"(selector));
        break;
    case segment_fs:
        asm volatile("mov %%fs, %0" : "=r"(selector));
        break;
    case segment_gs:
        asm volatile("mov %%gs, %0" : "=r"(selector));
        break;
    default:
        break;
    }
    return selector;
}

// A selector that is not in the real descriptor tables faults.
inline void write_segment(unsigned segment, std::uint16_t selector) {
    switch (segment) {
    case segment_es:
        asm volatile("mov %0, %%es" : : "r"(selector));
        break;
    case segment_ds:
        asm volatile("mov %0, %%ds" : : "r"(selector));
        break;
    case segment_fs:
        asm volatile("mov %0, %%fs" : : "r"(selector));
        break;
    default:
        asm volatile("mov %0, %%gs" : : "r"(selector));
    }
}

} // namespace previrt
