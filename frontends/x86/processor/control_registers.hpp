// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt {

// Each takes effect or raises an exception. Reads of CR0..CR8 and DR0..DR7 are loads from the Vcpu.
void write_control_register(unsigned number, std::uint64_t value);
// The same for CR3 in two parts: whether this value raises none, and its effect.
[[nodiscard]] bool may_load_root(std::uint64_t value);
void load_root_register(std::uint64_t value);
void write_debug_register(unsigned number, std::uint64_t value);
void write_extended_control(std::uint32_t number, std::uint64_t value);

} // namespace previrt
