// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt {

// By which the processor runs level 3: data, and 64-bit code. They are Linux's, and KVM's interpreter takes
// them for such code whatever the tables hold.
constexpr std::uint16_t selector_user_data = 0x2b;
constexpr std::uint16_t selector_user_code = 0x33;

} // namespace previrt
