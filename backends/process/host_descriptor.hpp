// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt::process {

// Linux's user_desc: a segment descriptor, as its calls take one.
struct HostDescriptor {
    std::uint32_t index;
    std::uint32_t base;
    std::uint32_t limit; // in units of its granularity
    std::uint32_t flags;
};

constexpr bool descriptor_bit(std::uint64_t descriptor, unsigned number) {
    return ((descriptor >> number) & 1U) != 0;
}

// 0 is an empty entry.
HostDescriptor host_descriptor(unsigned index, std::uint64_t descriptor);

} // namespace previrt::process
