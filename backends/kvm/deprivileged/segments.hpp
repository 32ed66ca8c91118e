// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt::kvm {

// KVM's interpreter runs 64-bit code of level 3 with these two, whatever the tables hold.
constexpr std::uint16_t selector_user_data = 0x2b;
constexpr std::uint16_t selector_user_code = 0x33;

constexpr unsigned global_entries = 512; // the guest's; the VMM's own follow
constexpr unsigned own_entries = 1;
constexpr unsigned local_entries = 8192;
constexpr std::uint16_t selector_level_0 = global_entries * 8;

bool is_long_code(std::uint16_t selector);

} // namespace previrt::kvm
