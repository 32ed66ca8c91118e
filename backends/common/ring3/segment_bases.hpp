// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt {

// Switches the real GS base with the guest's mode.
void enter_kernel_bases();
void leave_kernel_bases();

void write_active_gs_base(std::uint64_t base);

// Each back-end implements this: the selector that the processor can load for the guest's selector; 0 if it
// has none.
std::uint16_t selector_to_load(std::uint16_t selector);

} // namespace previrt
