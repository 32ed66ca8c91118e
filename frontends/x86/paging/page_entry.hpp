// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt {

enum PageEntry : std::uint64_t {
    page_present = 1U << 0U,
    page_writable = 1U << 1U,
    page_user = 1U << 2U,
    page_accessed = 1U << 5U,
    page_dirty = 1U << 6U,
    page_large = 1U << 7U,
    page_global = 1U << 8U,
    page_no_execute = std::uint64_t{1} << 63U,
};

constexpr unsigned page_shift = 12;
constexpr std::uint64_t page_bytes = 1U << page_shift;
constexpr std::uint64_t large_page_bytes = 1U << 21U;
constexpr unsigned entries_per_table = 512;
constexpr unsigned root_level = 4;

// The width that CPUID leaf 0x80000008 tells the guest.
constexpr unsigned physical_address_bits = 40;
constexpr std::uint64_t frame_mask = ((std::uint64_t{1} << physical_address_bits) - 1) & ~(page_bytes - 1);

constexpr std::uint64_t frame_of(std::uint64_t entry) {
    return (entry & frame_mask) >> page_shift;
}

// Of the real tables: the machine may have more memory than CPUID tells the guest.
constexpr std::uint64_t machine_frame_in(std::uint64_t entry) {
    constexpr std::uint64_t widest = ((std::uint64_t{1} << 52U) - 1) & ~(page_bytes - 1);
    return (entry & widest) >> page_shift;
}

constexpr unsigned table_index(std::uint64_t address, unsigned level) {
    return static_cast<unsigned>(address >> (page_shift + (9 * (level - 1)))) & (entries_per_table - 1);
}

enum PageFaultCode : std::uint32_t {
    fault_present = 1U << 0U,
    fault_write = 1U << 1U,
    fault_user = 1U << 2U,
    fault_reserved = 1U << 3U,
    fault_fetch = 1U << 4U,
};

} // namespace previrt
