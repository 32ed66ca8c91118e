// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/sites/site_operands.hpp"

#include "frontends/x86/paging/guest_memory.hpp"

namespace previrt {

// The VMM executes some instructions of user mode: those have no more rights than the program.
Privilege operand_privilege() {
    return vcpu.cpl == 3 ? Privilege::user : Privilege::supervisor;
}

void set_general(unsigned number, std::uint64_t value, unsigned width) {
    std::uint64_t& reg = general(number);
    switch (width) {
    case 2:
        reg = (reg & ~std::uint64_t{0xffff}) | (value & 0xffffU);
        break;
    case 4:
        reg = value & 0xffffffffU;
        break;
    default:
        reg = value;
    }
}

bool push(std::uint64_t value, unsigned width) {
    const std::uint64_t stack = general(rsp) - width;
    if (!write_guest(stack, &value, width, operand_privilege())) {
        return false;
    }
    general(rsp) = stack;
    return true;
}

bool pop(std::uint64_t& value, unsigned width) {
    value = 0;
    if (!read_guest(general(rsp), &value, width, operand_privilege())) {
        return false;
    }
    general(rsp) += width;
    return true;
}

bool read_selector(const Instruction& instruction, std::uint16_t& selector) {
    if (instruction.operand_is_memory) {
        return read_guest(instruction.effective, &selector, sizeof(selector), operand_privilege());
    }
    selector = static_cast<std::uint16_t>(general(instruction.rm));
    return true;
}

void write_small(const Instruction& instruction, std::uint64_t value) {
    if (instruction.operand_is_memory) {
        const auto low = static_cast<std::uint16_t>(value);
        (void)write_guest(instruction.effective, &low, sizeof(low), operand_privilege());
    } else {
        set_general(instruction.rm, value, instruction.width);
    }
}

} // namespace previrt
