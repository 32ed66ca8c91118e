// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt {

// Instructions that change CS. Each either takes effect or raises an exception and changes nothing.

void return_from_interrupt(unsigned width);
void return_from_system_call(unsigned width);
void far_return(unsigned width, unsigned release);
void far_jump(std::uint16_t selector, std::uint64_t offset);

// The processor's action at `syscall` in user mode. `next` is the instruction behind it.
void enter_system_call(std::uint64_t next, bool compatibility_mode);
// The same at `sysenter`, which saves nothing.
void enter_by_sysenter();

} // namespace previrt
