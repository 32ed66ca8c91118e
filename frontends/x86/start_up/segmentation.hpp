// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "frontends/x86/start_up/execution.hpp"

#include <cstdint>

namespace previrt::start_up {

// Whether the segment holds all of these bytes.
bool is_within(const Segment& segment, std::uint32_t offset, unsigned bytes);

// mov to, pop, les and kin: ES, SS, DS, FS or GS.
void load_segment(Execution& execution, unsigned number, std::uint16_t selector);

// The target of a far jump, call or return. Enters 64-bit mode if the segment says so.
void enter_code_segment(Execution& execution, std::uint16_t selector, std::uint32_t offset);

} // namespace previrt::start_up
