// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt {

// The real GS base changes with the guest's mode.
void enter_kernel_bases();
void leave_kernel_bases();

void write_active_gs_base(std::uint64_t base);

// Of each back-end: what the processor can load for a selector of the guest's; 0 for what it does not have.
std::uint16_t selector_to_load(std::uint16_t selector);

} // namespace previrt
