// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "frontends/x86/instructions/instruction.hpp"
#include "frontends/x86/paging/page_walk.hpp"
#include "inplace-vmm/vcpu.hpp"

namespace previrt {

// The operands of a site. False: an exception is raised.

inline std::uint64_t& general(unsigned number) {
    return vcpu.registers.general[number];
}
[[nodiscard]] Privilege operand_privilege();
void set_general(unsigned number, std::uint64_t value, unsigned width);

bool push(std::uint64_t value, unsigned width);
bool pop(std::uint64_t& value, unsigned width);

// The 16-bit register or memory operand of lldt, ltr, lmsw, verr, mov to a segment register and kin.
bool read_selector(const Instruction& instruction, std::uint16_t& selector);
// sldt, str, smsw, mov from a segment register: memory gets 16 bits whatever the operand size.
void write_small(const Instruction& instruction, std::uint64_t value);

} // namespace previrt
