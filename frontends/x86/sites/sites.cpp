// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/sites/sites.hpp"

#include "frontends/x86/devices/device_access.hpp"
#include "frontends/x86/devices/ports.hpp"
#include "frontends/x86/paging/guest_memory.hpp"
#include "frontends/x86/paging/page_table_writes.hpp"
#include "frontends/x86/paging/shadow/tables.hpp"
#include "frontends/x86/processor/control_registers.hpp"
#include "frontends/x86/processor/cpuid.hpp"
#include "frontends/x86/processor/exceptions.hpp"
#include "frontends/x86/processor/extended_state.hpp"
#include "frontends/x86/processor/flags.hpp"
#include "frontends/x86/processor/interrupts.hpp"
#include "frontends/x86/processor/msr.hpp"
#include "frontends/x86/processor/privilege.hpp"
#include "frontends/x86/processor/transfer.hpp"
#include "frontends/x86/sites/copied_sites.hpp"
#include "frontends/x86/sites/module_sites.hpp"
#include "frontends/x86/sites/segment_sites.hpp"
#include "frontends/x86/sites/site_operands.hpp"
#include "inplace-vmm/backend/processor_state.hpp"
#include "inplace-vmm/backend/segment_bases.hpp"
#include "inplace-vmm/site_list.hpp"
#include "inplace-vmm/stop.hpp"
#include "inplace-vmm/vcpu.hpp"

#include <algorithm>

namespace previrt {

namespace {

void write_flags(std::uint64_t value, unsigned width) {
    std::uint64_t which = arithmetic_flags | flag_trap | flag_nested_task;
    if (width == 8) {
        which |= flag_alignment | flag_identification;
    }
    if (vcpu.cpl == 0) {
        which |= flag_iopl;
    }
    if (vcpu.cpl <= io_privilege()) {
        which |= flag_interrupt;
    }
    load_flags(value, which);
}

void jump_far(const Instruction& instruction, bool is_call) {
    std::uint64_t offset = 0;
    std::uint16_t selector = 0;
    if (!read_guest(instruction.effective, &offset, instruction.width) ||
        !read_guest(instruction.effective + instruction.width, selector)) {
        return;
    }
    const std::uint64_t old_cs = vcpu.cs;
    const std::uint64_t old_stack = general(rsp);
    far_jump(selector, offset);
    if (is_call && !exception_is_raised() &&
        !(push(old_cs, instruction.width) && push(instruction.next, instruction.width))) {
        general(rsp) = old_stack;
        vcpu.cs = old_cs;
    }
}

void read_or_write_msr(const Instruction& instruction) {
    const auto number = static_cast<std::uint32_t>(general(rcx));
    if (instruction.kind == SiteKind::rdmsr) {
        const std::optional<std::uint64_t> value = read_msr(number);
        if (value) {
            general(rax) = *value & 0xffffffffU;
            general(rdx) = *value >> 32U;
            return;
        }
    } else if (write_msr(number, (general(rax) & 0xffffffffU) | (general(rdx) << 32U))) {
        return;
    }
    raise_exception(general_protection, 0);
}

void read_or_write_base(const Instruction& instruction) {
    if ((vcpu.cr4 & cr4_fsgsbase) == 0) {
        raise_exception(invalid_opcode);
        return;
    }
    const bool is_gs = instruction.kind == SiteKind::rdgsbase || instruction.kind == SiteKind::wrgsbase;
    const bool user = vcpu.gs_exchanged != 0;
    if (instruction.kind == SiteKind::rdfsbase || instruction.kind == SiteKind::rdgsbase) {
        set_general(instruction.rm, is_gs ? backend::read_gs_base(user) : backend::read_fs_base(),
                    instruction.width);
        return;
    }
    const std::uint64_t base =
        instruction.width == 8 ? general(instruction.rm) : general(instruction.rm) & 0xffffffffU;
    if (!is_canonical(base)) {
        raise_exception(general_protection, 0);
    } else if (is_gs) {
        backend::write_gs_base(user, base);
    } else {
        backend::write_fs_base(base);
    }
}

void identify() {
    const backend::CpuidLeaf leaf =
        guest_cpuid(static_cast<std::uint32_t>(general(rax)), static_cast<std::uint32_t>(general(rcx)));
    general(rax) = leaf.eax;
    general(rbx) = leaf.ebx;
    general(rcx) = leaf.ecx;
    general(rdx) = leaf.edx;
}

// CPUID hides XINUSE, ECX 1.
void read_extended_control() {
    if ((vcpu.cr4 & cr4_osxsave) == 0) {
        raise_exception(invalid_opcode);
    } else if (static_cast<std::uint32_t>(general(rcx)) != 0) {
        raise_exception(general_protection, 0);
    } else {
        general(rax) = vcpu.xcr0 & 0xffffffffU;
        general(rdx) = vcpu.xcr0 >> 32U;
    }
}

std::uint64_t read_control(unsigned number, bool& exists) {
    exists = true;
    switch (number) {
    case 0:
        return vcpu.cr0;
    case 2:
        return vcpu.cr2;
    case 3:
        return vcpu.cr3;
    case 4:
        return vcpu.cr4;
    case 8:
        return vcpu.cr8;
    default:
        exists = false;
        return 0;
    }
}

void move_control(const Instruction& instruction) {
    if (instruction.kind == SiteKind::mov_to_control) {
        write_control_register(instruction.reg, general(instruction.rm));
        return;
    }
    bool exists = false;
    const std::uint64_t value = read_control(instruction.reg, exists);
    if (!exists) {
        raise_exception(invalid_opcode);
        return;
    }
    general(instruction.rm) = value;
}

void move_debug(const Instruction& instruction) {
    if (instruction.kind == SiteKind::mov_to_debug) {
        write_debug_register(instruction.reg, general(instruction.rm));
        return;
    }
    unsigned number = instruction.reg;
    if (number == 4 || number == 5) {
        if ((vcpu.cr4 & cr4_de) != 0) {
            raise_exception(invalid_opcode);
            return;
        }
        number += 2;
    }
    general(instruction.rm) = vcpu.debug[number & 7U];
}

// False: raises the processor's fault.
bool is_readable(std::uint64_t address, std::uint64_t bytes) {
    if (bytes > most_announced_bytes) {
        return true; // no processor would read so far: it refuses the length
    }
    std::uint8_t part[64];
    for (std::uint64_t i = 0; i < bytes; i += sizeof(part)) {
        if (!read_guest(address + i, part, std::min<std::uint64_t>(sizeof(part), bytes - i))) {
            return false;
        }
    }
    return true;
}

void take_announcement(AnnouncementTag tag) {
    const std::uint64_t begin = general(rdi);
    const std::uint64_t bytes = general(rsi);
    switch (tag) {
    case AnnouncementTag::table:
        if (is_readable(begin, bytes)) {
            take_announced_sites(begin, bytes);
        }
        return;
    case AnnouncementTag::module:
        if (is_readable(begin, bytes) && is_readable(general(rdx), general(rcx))) {
            general(rax) = static_cast<std::uint64_t>(take_announced_module(
                {.table = begin, .table_bytes = bytes, .note = general(rdx), .note_bytes = general(rcx)}));
        }
        return;
    case AnnouncementTag::forget:
        forget_announced_sites(begin, bytes);
        return;
    case AnnouncementTag::copy:
        general(rax) = static_cast<std::uint64_t>(
            take_copied_sites({.to = begin, .from = general(rdx), .bytes = bytes}));
        return;
    case AnnouncementTag::read:
        show_own_instructions({.to = begin, .from = general(rdx), .bytes = bytes});
        return;
    }
    stop_guest("an announcement that the VMM does not know:", static_cast<std::uint64_t>(tag));
}

void execute_privileged(const Instruction& instruction) {
    switch (instruction.kind) {
    case SiteKind::hlt:
        halt();
        break;
    case SiteKind::iret:
        return_from_interrupt(instruction.width);
        break;
    case SiteKind::sysret:
        return_from_system_call(instruction.width);
        break;
    case SiteKind::lret:
        far_return(instruction.width, instruction.opcode == 0xca ? instruction.immediate : 0);
        break;
    case SiteKind::ljmp:
    case SiteKind::lcall:
        jump_far(instruction, instruction.kind == SiteKind::lcall);
        break;
    case SiteKind::swapgs:
        exchange_gs_bases();
        break;
    case SiteKind::mov_from_control:
    case SiteKind::mov_to_control:
        move_control(instruction);
        break;
    case SiteKind::mov_from_debug:
    case SiteKind::mov_to_debug:
        move_debug(instruction);
        break;
    case SiteKind::clts:
        write_control_register(0, vcpu.cr0 & ~std::uint64_t{cr0_ts});
        break;
    case SiteKind::lmsw: {
        std::uint16_t value = 0;
        if (read_selector(instruction, value)) {
            // lmsw can set PE and cannot clear it.
            write_control_register(0, (vcpu.cr0 & ~std::uint64_t{0xe}) | (value & 0xfU));
        }
        break;
    }
    case SiteKind::rdmsr:
    case SiteKind::wrmsr:
        read_or_write_msr(instruction);
        break;
    case SiteKind::xsetbv:
        write_extended_control(static_cast<std::uint32_t>(general(rcx)),
                               (general(rax) & 0xffffffffU) | (general(rdx) << 32U));
        break;
    case SiteKind::xsave:
    case SiteKind::xsaveopt:
    case SiteKind::xrstor:
        execute_extended_state(instruction);
        break;
    case SiteKind::invlpg:
        shadow_invalidate(instruction.effective);
        break;
    case SiteKind::invd:
    case SiteKind::wbinvd:
    case SiteKind::wbnoinvd: // RAM is coherent, and no device reads it past the caches
        break;
    case SiteKind::page_table_write:
    case SiteKind::page_table_exchange:
    case SiteKind::page_table_compare_exchange:
    case SiteKind::page_table_test_and_clear_bit:
    case SiteKind::page_table_clear_bit:
        execute_page_table_access(instruction);
        break;
    case SiteKind::mmio_read:
    case SiteKind::mmio_write:
        execute_annotated_access(instruction);
        break;
    case SiteKind::announce_sites:
        take_announcement(static_cast<AnnouncementTag>(instruction.annotation));
        break;
    case SiteKind::lgdt:
    case SiteKind::lidt:
    case SiteKind::lldt:
    case SiteKind::ltr:
        load_system_table(instruction);
        break;
    default:
        // CPUID hides the feature: without it the instruction is an invalid opcode.
        raise_exception(invalid_opcode);
    }
}

// Instructions that level 3 may execute too.
bool execute_unprivileged(const Instruction& instruction) {
    std::uint64_t value = 0;
    switch (instruction.kind) {
    case SiteKind::cli:
    case SiteKind::sti:
        if (vcpu.cpl > io_privilege()) {
            raise_exception(general_protection, 0);
        } else if (instruction.kind == SiteKind::cli) {
            vcpu.interrupt_flag = false;
        } else {
            vcpu.interrupt_shadow = !vcpu.interrupt_flag;
            vcpu.interrupt_flag = true;
        }
        return true;
    case SiteKind::pushf:
        (void)push(guest_flags() & ~std::uint64_t{flag_resume}, instruction.width);
        return true;
    case SiteKind::popf:
        if (pop(value, instruction.width)) {
            write_flags(value, instruction.width);
        }
        return true;
    case SiteKind::int_n:
        deliver_software_interrupt(static_cast<std::uint8_t>(instruction.immediate));
        return true;
    case SiteKind::in:
    case SiteKind::out:
    case SiteKind::ins:
    case SiteKind::outs:
        execute_port(instruction);
        return true;
    case SiteKind::smsw:
        write_small(instruction, vcpu.cr0);
        return true;
    case SiteKind::sldt:
        write_small(instruction, vcpu.ldt.selector);
        return true;
    case SiteKind::str:
        write_small(instruction, vcpu.task.selector);
        return true;
    case SiteKind::rdfsbase:
    case SiteKind::rdgsbase:
    case SiteKind::wrfsbase:
    case SiteKind::wrgsbase:
        read_or_write_base(instruction);
        return true;
    case SiteKind::cpuid:
        identify();
        return true;
    case SiteKind::xgetbv:
        read_extended_control();
        return true;
    default:
        return execute_segment_site(instruction);
    }
}

} // namespace

void execute_site(const Instruction& instruction) {
    vcpu.instruction = instruction.address;
    vcpu.registers.rip = instruction.next;
    if (!execute_unprivileged(instruction)) {
        if (vcpu.cpl == 0) {
            execute_privileged(instruction);
        } else {
            raise_exception(general_protection, 0);
        }
    }
    if (exception_is_raised()) {
        vcpu.registers.rip = instruction.address;
    } else if (instruction.kind == SiteKind::sysret && (vcpu.registers.rflags & flag_trap) != 0) {
        raise_single_step(); // so that a step of user mode is a whole system call
    }
}

} // namespace previrt
