// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/kvm/interface.hpp"

#include <cstdint>

namespace previrt {

// Segments of 64-bit mode, without base and limit, and with the accessed bit set: readable code, writable
// data.
kvm_segment code_segment(std::uint16_t selector, std::uint8_t level);
kvm_segment data_segment(std::uint16_t selector, std::uint8_t level);

} // namespace previrt
