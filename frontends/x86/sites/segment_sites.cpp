// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/sites/segment_sites.hpp"

#include "frontends/x86/paging/guest_memory.hpp"
#include "frontends/x86/processor/descriptors.hpp"
#include "frontends/x86/processor/exceptions.hpp"
#include "frontends/x86/processor/segment_registers.hpp"
#include "frontends/x86/sites/site_operands.hpp"

#include <cstring>

namespace previrt {

namespace {

void load_table(const Instruction& instruction, bool is_global) {
    struct [[gnu::packed]] {
        std::uint16_t limit;
        std::uint64_t base;
    } operand{};
    static_assert(sizeof(operand) == 10);
    if (!read_guest(instruction.effective, &operand, sizeof(operand))) {
        return;
    }
    if (!is_canonical(operand.base)) {
        raise_exception(general_protection, 0);
    } else if (is_global) {
        load_global_table(operand.base, operand.limit);
    } else {
        vcpu.idt = {.base = operand.base, .limit = operand.limit};
    }
}

void store_table(const Instruction& instruction, const DescriptorTable& table) {
    std::uint8_t operand[10];
    std::memcpy(operand, &table.limit, 2);
    std::memcpy(operand + 2, &table.base, 8);
    (void)write_guest(instruction.effective, operand, sizeof(operand), operand_privilege());
}

void read_segment_register(const Instruction& instruction) {
    const unsigned segment = instruction.reg & 7U;
    if (segment > segment_gs) {
        raise_exception(invalid_opcode);
    } else {
        write_small(instruction, guest_selector(segment));
    }
}

void load_segment_register(unsigned segment, std::uint16_t selector) {
    if (segment == segment_cs || segment > segment_gs) {
        raise_exception(invalid_opcode);
    } else if (segment == segment_ss) {
        (void)load_stack_segment(selector);
    } else {
        load_data_segment(segment, selector);
    }
}

void load_far(const Instruction& instruction) {
    std::uint64_t offset = 0;
    std::uint16_t selector = 0;
    const Privilege privilege = operand_privilege();
    if (!read_guest(instruction.effective, &offset, instruction.width, privilege) ||
        !read_guest(instruction.effective + instruction.width, &selector, sizeof(selector), privilege)) {
        return;
    }
    const unsigned segment = instruction.opcode & 7U; // 0f b2 ss, b4 fs, b5 gs
    load_segment_register(segment, selector);
    if (!exception_is_raised()) {
        set_general(instruction.reg, offset, instruction.width);
    }
}

void set_zero(bool set) {
    vcpu.registers.rflags =
        (vcpu.registers.rflags & ~std::uint64_t{flag_zero}) | (set ? std::uint64_t{flag_zero} : 0);
}

void check_segment(const Instruction& instruction) {
    std::uint16_t selector = 0;
    if (!read_selector(instruction, selector)) {
        return;
    }
    std::optional<std::uint32_t> value;
    switch (instruction.kind) {
    case SiteKind::lar:
        value = access_rights(selector);
        break;
    case SiteKind::lsl:
        value = segment_limit(selector);
        break;
    case SiteKind::verr:
        set_zero(may_read_segment(selector));
        return;
    default:
        set_zero(may_write_segment(selector));
        return;
    }
    if (exception_is_raised()) {
        return;
    }
    set_zero(value.has_value());
    if (value) {
        set_general(instruction.reg, *value, instruction.width);
    }
}

} // namespace

bool execute_segment_site(const Instruction& instruction) {
    std::uint64_t value = 0;
    switch (instruction.kind) {
    case SiteKind::sgdt:
        store_table(instruction, vcpu.gdt);
        return true;
    case SiteKind::sidt:
        store_table(instruction, vcpu.idt);
        return true;
    case SiteKind::mov_from_segment:
        read_segment_register(instruction);
        return true;
    case SiteKind::mov_to_segment: {
        std::uint16_t selector = 0;
        if (read_selector(instruction, selector)) {
            load_segment_register(instruction.reg & 7U, selector);
            vcpu.interrupt_shadow =
                (instruction.reg & 7U) == segment_ss && !exception_is_raised(); // not behind lss
        }
        return true;
    }
    case SiteKind::push_segment:
        (void)push(guest_selector((instruction.opcode & 8U) != 0 ? segment_gs : segment_fs),
                   instruction.width);
        return true;
    case SiteKind::pop_segment: {
        const std::uint64_t stack = general(rsp);
        if (pop(value, instruction.width)) {
            load_segment_register((instruction.opcode & 8U) != 0 ? segment_gs : segment_fs,
                                  static_cast<std::uint16_t>(value));
            if (exception_is_raised()) {
                general(rsp) = stack;
            }
        }
        return true;
    }
    case SiteKind::load_far_pointer:
        load_far(instruction);
        return true;
    case SiteKind::lar:
    case SiteKind::lsl:
    case SiteKind::verr:
    case SiteKind::verw:
        check_segment(instruction);
        return true;
    default:
        return false;
    }
}

void load_system_table(const Instruction& instruction) {
    std::uint16_t selector = 0;
    switch (instruction.kind) {
    case SiteKind::lgdt:
    case SiteKind::lidt:
        load_table(instruction, instruction.kind == SiteKind::lgdt);
        break;
    default:
        if (read_selector(instruction, selector)) {
            (void)(instruction.kind == SiteKind::lldt ? load_local_table(selector)
                                                      : load_task_register(selector));
        }
    }
}

} // namespace previrt
