// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt {

// Accesses of 1, 2 or 4 bytes. One that the device does not model stops the guest.
std::uint32_t read_port(std::uint16_t port, unsigned width);
void write_port(std::uint16_t port, unsigned width, std::uint32_t value);

constexpr std::uint64_t width_mask(unsigned width) {
    return (std::uint64_t{1} << (8 * width)) - 1;
}

// RAX after IN. A 32-bit write to EAX clears the upper half.
constexpr std::uint64_t accumulator_after_in(std::uint64_t accumulator, std::uint32_t value, unsigned width) {
    return width == 4 ? value : (accumulator & ~width_mask(width)) | (value & width_mask(width));
}

} // namespace previrt
