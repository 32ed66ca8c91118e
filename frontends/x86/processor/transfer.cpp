// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/processor/transfer.hpp"

#include "frontends/x86/paging/guest_memory.hpp"
#include "frontends/x86/processor/descriptors.hpp"
#include "frontends/x86/processor/exceptions.hpp"
#include "frontends/x86/processor/flags.hpp"
#include "frontends/x86/processor/privilege.hpp"
#include "frontends/x86/processor/usual_return.hpp"
#include "inplace-vmm/counters.hpp"
#include "inplace-vmm/stop.hpp"
#include "inplace-vmm/vcpu.hpp"

#include <cstring>

namespace previrt {

[[gnu::section("processor")]] UsualReturn usual_return;

namespace {

constexpr std::uint64_t all_flags =
    native_flags | flag_interrupt | flag_iopl | flag_nested_task | flag_alignment;

// The stack segment of a return to `privilege`. False: an exception is raised.
bool check_stack_segment(std::uint16_t selector, unsigned privilege, bool long_mode) {
    if (is_null(selector)) {
        if (long_mode && privilege != 3 && (selector & 3U) == privilege) {
            return true;
        }
        raise_exception(general_protection, 0);
        return false;
    }
    Descriptor descriptor{};
    const Lookup lookup = read_descriptor(selector, descriptor);
    if (lookup == Lookup::faulted) {
        return false;
    }
    if (lookup == Lookup::outside || (selector & 3U) != privilege || !descriptor.is_writable() ||
        descriptor.privilege() != privilege) {
        raise_exception(general_protection, selector_error(selector));
        return false;
    }
    if (!descriptor.present()) {
        raise_exception(stack_fault, selector_error(selector));
        return false;
    }
    return true;
}

bool check_target(std::uint64_t address, const Descriptor& code) {
    if (code.is_long_code() ? !is_canonical(address) : address > code.limit()) {
        raise_exception(general_protection, 0);
        return false;
    }
    return true;
}

// Values of `width` bytes from a stack. False: an exception is raised.
bool read_values(std::uint64_t stack, unsigned width, std::uint64_t* values, unsigned count) {
    std::uint8_t bytes[5 * sizeof(std::uint64_t)];
    if (!read_guest(stack, bytes, std::size_t{width} * count)) {
        return false;
    }
    for (unsigned i = 0; i < count; ++i) {
        values[i] = 0;
        std::memcpy(&values[i], bytes + (std::size_t{width} * i), width);
    }
    return true;
}

enum : std::uint8_t { frame_rip, frame_cs, frame_flags, frame_rsp, frame_ss, frame_values };

void take_frame(const std::uint64_t* frame, std::uint64_t flags) {
    load_flags(frame[frame_flags], flags);
    vcpu.registers.rip = frame[frame_rip];
    vcpu.registers.general[rsp] = frame[frame_rsp];
    set_privilege(frame[frame_cs] & 3U);
    vcpu.cs = static_cast<std::uint16_t>(frame[frame_cs]);
    vcpu.ss = static_cast<std::uint16_t>(frame[frame_ss]);
}

constexpr unsigned selector_bits = 3; // below the index

bool is_of_global_table(std::uint64_t selector, std::span<const std::uint64_t> table) {
    constexpr std::uint64_t table_indicator = 4;
    return (selector & table_indicator) == 0 && selector >> selector_bits < table.size();
}

void note_user_segments(const std::uint64_t* frame) {
    const std::span<const std::uint64_t> table = known_global_table();
    const std::uint64_t code = frame[frame_cs];
    const std::uint64_t stack = frame[frame_ss];
    if (is_of_global_table(code, table) && is_of_global_table(stack, table)) {
        usual_return = {.code = code,
                        .stack = stack,
                        .code_descriptor = table[code >> selector_bits],
                        .stack_descriptor = table[stack >> selector_bits]};
    }
}

// False: the return needs all checks, and nothing was done.
bool return_to_usual_segments() {
    const UsualReturn& usual = usual_return;
    const std::uint64_t stack = vcpu.registers.general[rsp];
    const auto* const frame =
        reinterpret_cast<const std::uint64_t*>(known_memory(stack, frame_values * sizeof(std::uint64_t)));
    if (frame == nullptr || stack % sizeof(std::uint64_t) != 0 || usual.code == 0 ||
        frame[frame_cs] != usual.code || frame[frame_ss] != usual.stack || !is_canonical(frame[frame_rip])) {
        return false;
    }
    const std::span<const std::uint64_t> table = known_global_table();
    if (!is_of_global_table(usual.code, table) || !is_of_global_table(usual.stack, table) ||
        table[usual.code >> selector_bits] != usual.code_descriptor ||
        table[usual.stack >> selector_bits] != usual.stack_descriptor) {
        return false;
    }
    take_frame(frame, all_flags);
    return true;
}

} // namespace

void return_from_interrupt(unsigned width) {
    vcpu.nmi_blocked = false; // even if iret faults
    if ((vcpu.system_flags & flag_nested_task) != 0) {
        raise_exception(general_protection, 0);
        return;
    }
    if (width == sizeof(std::uint64_t) && vcpu.cpl == 0 && return_to_usual_segments()) {
        return;
    }
    std::uint64_t frame[frame_values];
    if (!read_values(vcpu.registers.general[rsp], width, frame, frame_values)) {
        return;
    }
    const auto code_selector = static_cast<std::uint16_t>(frame[frame_cs]);
    const auto stack_selector = static_cast<std::uint16_t>(frame[frame_ss]);
    const unsigned privilege = code_selector & 3U;
    if (is_null(code_selector) || privilege < vcpu.cpl) {
        raise_exception(general_protection, selector_error(code_selector));
        return;
    }
    const auto code = read_code_segment(code_selector, privilege);
    if (!code) {
        return;
    }
    if (!check_stack_segment(stack_selector, privilege, code->is_long_code()) ||
        !check_target(frame[frame_rip], *code)) {
        return;
    }
    if (privilege == 0 ? !code->is_long_code() : privilege != 3) {
        stop_guest("iret to a level or a mode that is not modelled: CS", code_selector);
    }
    if (privilege == 3 && code->is_long_code()) {
        note_user_segments(frame);
    }
    take_frame(frame, width == 2 ? all_flags & 0xffffU : all_flags);
}

void return_from_system_call(unsigned width) {
    if ((vcpu.efer & efer_sce) == 0) {
        raise_exception(invalid_opcode);
        return;
    }
    if (vcpu.cpl != 0) {
        raise_exception(general_protection, 0);
        return;
    }
    const std::uint64_t target =
        width == 8 ? vcpu.registers.general[rcx] : static_cast<std::uint32_t>(vcpu.registers.general[rcx]);
    if (!is_canonical(target)) {
        raise_exception(general_protection, 0);
        return;
    }
    const auto base = static_cast<std::uint16_t>(vcpu.star >> 48U);
    const auto code = static_cast<std::uint16_t>((width == 8 ? base + 16 : base) | 3);
    // A virtual processor loads fixed descriptors here; the real one will load those of the table.
    Descriptor descriptor{};
    if (read_descriptor(code, descriptor) != Lookup::found || !descriptor.is_code() ||
        descriptor.is_long_code() != (width == 8) || descriptor.privilege() != 3) {
        stop_guest("sysret to a selector that the GDT describes otherwise:", code);
    }
    load_flags(vcpu.registers.general[r11], all_flags & ~std::uint64_t{flag_resume});
    vcpu.registers.rip = target;
    set_privilege(3);
    vcpu.cs = code;
    vcpu.ss = static_cast<std::uint16_t>((base + 8) | 3);
}

void far_return(unsigned width, unsigned release) {
    std::uint64_t values[5] = {}; // RIP, CS, and for an outer level RSP, SS, behind the released bytes
    const std::uint64_t stack = vcpu.registers.general[rsp];
    constexpr unsigned inner = 2;
    if (!read_values(stack, width, values, inner)) {
        return;
    }
    const auto selector = static_cast<std::uint16_t>(values[1]);
    const unsigned privilege = selector & 3U;
    const std::uint64_t behind = stack + (std::uint64_t{width} * inner) + release;
    if (is_null(selector) || privilege < vcpu.cpl) {
        raise_exception(general_protection, selector_error(selector));
        return;
    }
    if (privilege == vcpu.cpl) {
        far_jump(selector, values[0]);
        if (!exception_is_raised()) {
            vcpu.registers.general[rsp] = behind;
        }
        return;
    }
    const auto code = read_code_segment(selector, privilege);
    if (!code || !read_values(behind, width, values + inner, inner)) {
        return;
    }
    const auto stack_selector = static_cast<std::uint16_t>(values[3]);
    if (!check_stack_segment(stack_selector, privilege, code->is_long_code()) ||
        !check_target(values[0], *code)) {
        return;
    }
    if (privilege != 3) {
        stop_guest("a far return to a level that is not modelled: CS", selector);
    }
    vcpu.registers.rip = values[0];
    vcpu.registers.general[rsp] = values[2] + release;
    set_privilege(privilege);
    vcpu.cs = selector;
    vcpu.ss = stack_selector;
}

void far_jump(std::uint16_t selector, std::uint64_t offset) {
    const auto code = read_code_segment(selector, vcpu.cpl);
    if (!code || !check_target(offset, *code)) {
        return;
    }
    if (!code->is_long_code()) {
        stop_guest("kernel code that is not of 64 bits is not modelled: CS", selector);
    }
    vcpu.cs = (selector & 0xfffcU) | vcpu.cpl;
    vcpu.registers.rip = offset;
}

void enter_system_call(std::uint64_t next, bool compatibility_mode) {
    if ((vcpu.efer & efer_sce) == 0) {
        vcpu.registers.rip = next - 2;
        raise_exception(invalid_opcode);
        return;
    }
    ++counters.system_calls;
    vcpu.registers.general[rcx] = next;
    vcpu.registers.general[r11] = guest_flags() & ~std::uint64_t{flag_resume};
    vcpu.registers.rip = compatibility_mode ? vcpu.cstar : vcpu.lstar;
    load_flags(0, (vcpu.syscall_mask | flag_resume) & all_flags);
    const auto base = static_cast<std::uint16_t>(vcpu.star >> 32U);
    set_privilege(0);
    vcpu.cs = base & 0xfffcU;
    vcpu.ss = static_cast<std::uint16_t>((base + 8) & 0xfffcU);
    if ((vcpu.registers.rflags & flag_trap) != 0) {
        raise_single_step();
    }
}

void enter_by_sysenter() {
    const auto code = static_cast<std::uint16_t>(vcpu.sysenter_cs & 0xfffcU);
    if (code == 0) {
        vcpu.registers.rip = vcpu.instruction;
        raise_exception(general_protection, 0);
        return;
    }
    ++counters.system_calls;
    load_flags(0, flag_interrupt | flag_resume);
    vcpu.registers.rip = vcpu.sysenter_eip;
    vcpu.registers.general[rsp] = vcpu.sysenter_esp;
    set_privilege(0);
    vcpu.cs = code;
    vcpu.ss = static_cast<std::uint16_t>(code + 8);
    if ((vcpu.registers.rflags & flag_trap) != 0) {
        raise_single_step();
    }
}

} // namespace previrt
