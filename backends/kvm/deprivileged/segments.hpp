// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/common/ring3/selectors.hpp"

#include <cstdint>

namespace previrt::kvm {

constexpr unsigned global_entries = 512; // the guest's; the VMM's own follow
constexpr unsigned own_entries = 1;
constexpr unsigned local_entries = 8192;
constexpr std::uint16_t selector_level_0 = global_entries * 8;

bool is_long_code(std::uint16_t selector);

} // namespace previrt::kvm
