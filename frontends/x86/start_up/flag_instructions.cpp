// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/start_up/instructions.hpp"

namespace previrt::start_up {

namespace {

// SF, ZF, AF, PF and CF.
constexpr std::uint64_t flags_of_ah = 0xd5;
constexpr unsigned ah = 4;

} // namespace

void change_flag(Execution& execution) {
    constexpr std::uint8_t complement_carry = 0xf5;
    const std::uint8_t opcode = execution.opcode;
    if (opcode == complement_carry) {
        execution.set_flags(~execution.processor.rflags, flag_carry);
        return;
    }
    constexpr std::uint64_t flags[3] = {flag_carry, flag_interrupt, flag_direction};
    const std::uint64_t flag = flags[((opcode - 0xf8U) >> 1U) % 3];
    execution.set_flags((opcode & 1U) != 0 ? flag : 0, flag);
}

void load_ah_from_flags(Execution& execution) {
    execution.write_register(ah, static_cast<std::uint32_t>(execution.processor.rflags), 1);
}

void store_ah_in_flags(Execution& execution) {
    execution.set_flags(execution.read_register(ah, 1), flags_of_ah);
}

} // namespace previrt::start_up
