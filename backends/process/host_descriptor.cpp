// SPDX-License-Identifier: BSD-2-Clause
#include "backends/process/host_descriptor.hpp"

#include "frontends/x86/processor/descriptors.hpp"

namespace previrt::process {

HostDescriptor host_descriptor(unsigned index, std::uint64_t descriptor) {
    constexpr std::uint32_t read_or_execute_only = 1U << 3U;
    constexpr std::uint32_t not_present = 1U << 5U;
    if (descriptor == 0) {
        return {.index = index, .base = 0, .limit = 0, .flags = read_or_execute_only | not_present};
    }
    const Descriptor what{.low = descriptor, .high = 0};
    const auto contents =
        static_cast<std::uint32_t>((descriptor >> 42U) & 3U); // code; conforming or grows down
    return {.index = index,
            .base = static_cast<std::uint32_t>(what.base()),
            .limit = static_cast<std::uint32_t>((descriptor & 0xffffU) | ((descriptor >> 32U) & 0xf0000U)),
            .flags = (descriptor_bit(descriptor, 54) ? 1U : 0U) | (contents << 1U) |
                     (descriptor_bit(descriptor, 41) ? 0U : read_or_execute_only) |
                     (descriptor_bit(descriptor, 55) ? 1U << 4U : 0U) | (what.present() ? 0U : not_present) |
                     (descriptor_bit(descriptor, 52) ? 1U << 6U : 0U)};
}

} // namespace previrt::process
