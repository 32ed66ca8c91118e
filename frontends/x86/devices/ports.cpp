// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/devices/ports.hpp"

#include "frontends/x86/devices/port_access.hpp"
#include "frontends/x86/paging/guest_memory.hpp"
#include "frontends/x86/processor/exceptions.hpp"
#include "frontends/x86/processor/flags.hpp"
#include "frontends/x86/sites/site_operands.hpp"
#include "inplace-vmm/vcpu.hpp"

namespace previrt {

namespace {

// User mode needs IOPL or the permission bitmap of the task state.
bool port_is_allowed(std::uint16_t port, unsigned width) {
    if (vcpu.cpl <= io_privilege()) {
        return true;
    }
    constexpr std::uint64_t bitmap_base = 0x66;
    std::uint16_t base = 0;
    if (!vcpu.task.present || vcpu.task.limit < bitmap_base + 1 ||
        !read_guest(vcpu.task.base + bitmap_base, base)) {
        return false;
    }
    const std::uint32_t offset = base + (port / 8U);
    std::uint16_t bits = 0;
    if (offset + 1 > vcpu.task.limit || !read_guest(vcpu.task.base + offset, bits)) {
        return false;
    }
    const unsigned mask = (1U << width) - 1;
    return ((bits >> (port % 8U)) & mask) == 0;
}

void execute_string(const Instruction& instruction, std::uint16_t port) {
    auto& general = vcpu.registers.general;
    // With 32-bit addresses, RCX, RSI and RDI are 32-bit registers too: a write clears their upper halves.
    const std::uint64_t register_mask = instruction.memory.has_32_bits ? 0xffffffff : ~std::uint64_t{0};
    if (instruction.repeats && (general[rcx] & register_mask) == 0) {
        return;
    }
    const Privilege privilege = operand_privilege();
    const bool is_input = instruction.kind == SiteKind::ins;
    std::uint64_t& index = general[is_input ? rdi : rsi];
    const std::uint64_t address = effective_address(instruction.memory, instruction.next);
    std::uint32_t value = 0;
    if (is_input) {
        // Checked first: a page fault must not lose an element that the device has given.
        if (!may_write_guest(address, instruction.width, privilege)) {
            return;
        }
        value = read_port(port, instruction.width);
        if (!write_guest(address, &value, instruction.width, privilege)) {
            return;
        }
    } else {
        if (!read_guest(address, &value, instruction.width, privilege)) {
            return;
        }
        write_port(port, instruction.width, value);
    }
    const bool is_downwards = (vcpu.registers.rflags & flag_direction) != 0;
    index = (is_downwards ? index - instruction.width : index + instruction.width) & register_mask;
    if (instruction.repeats) {
        general[rcx] = (general[rcx] - 1) & register_mask;
        if (general[rcx] != 0) {
            vcpu.registers.rip = instruction.address;
        }
    }
}

} // namespace

void execute_port(const Instruction& instruction) {
    auto& general = vcpu.registers.general;
    const bool is_string = instruction.kind == SiteKind::ins || instruction.kind == SiteKind::outs;
    const bool in_dx = is_string || (instruction.opcode & 8U) != 0;
    const std::uint16_t port = in_dx ? static_cast<std::uint16_t>(general[rdx])
                                     : static_cast<std::uint16_t>(instruction.immediate & 0xffU);
    if (!port_is_allowed(port, instruction.width)) {
        if (!exception_is_raised()) {
            raise_exception(general_protection, 0);
        }
        return;
    }
    if (is_string) {
        execute_string(instruction, port);
    } else if (instruction.kind == SiteKind::in) {
        general[rax] =
            accumulator_after_in(general[rax], read_port(port, instruction.width), instruction.width);
    } else {
        write_port(port, instruction.width,
                   static_cast<std::uint32_t>(general[rax] & width_mask(instruction.width)));
    }
}

} // namespace previrt
