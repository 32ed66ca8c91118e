// SPDX-License-Identifier: BSD-2-Clause
#include "tests/backends/ptrace/entries.hpp"

#include "frontends/x86/processor/entries.hpp"
#include "frontends/x86/processor/flags.hpp"
#include "inplace-vmm/vcpu.hpp"
#include "tests/backends/ptrace/address_space.hpp"
#include "tests/backends/ptrace/child.hpp"
#include "tests/backends/ptrace/events.hpp"
#include "tests/backends/ptrace/segment_bases.hpp"

#include <cstddef>
#include <iterator>

namespace previrt {

Vcpu vcpu;

namespace traced {

namespace {

using Place = unsigned long long user_regs_struct::*;
constexpr Place general_registers[] = {
    &user_regs_struct::rax, &user_regs_struct::rcx, &user_regs_struct::rdx, &user_regs_struct::rbx,
    &user_regs_struct::rsp, &user_regs_struct::rbp, &user_regs_struct::rsi, &user_regs_struct::rdi,
    &user_regs_struct::r8,  &user_regs_struct::r9,  &user_regs_struct::r10, &user_regs_struct::r11,
    &user_regs_struct::r12, &user_regs_struct::r13, &user_regs_struct::r14, &user_regs_struct::r15};

// From the child to the Vcpu.
void enter() {
    for (std::size_t i = 0; i < std::size(general_registers); ++i) {
        vcpu.registers.general[i] = child_registers.*general_registers[i];
    }
    vcpu.registers.rip = child_registers.rip;
    vcpu.registers.rflags = child_registers.eflags;
    enter_with_gs_base();
    vcpu.events_held = false;
    if (vcpu.cpl == 3) {
        vcpu.gs_exchanged = 0xff;
        vcpu.cs = child_registers.cs;
        vcpu.ss = child_registers.ss;
        take_user_flags();
    }
}

// And back. To the processor both of the guest's levels are level 3, with interrupts enabled.
void leave() {
    for (std::size_t i = 0; i < std::size(general_registers); ++i) {
        child_registers.*general_registers[i] = vcpu.registers.general[i];
    }
    child_registers.rip = vcpu.registers.rip;
    leave_with_gs_base();
    if (vcpu.cpl == 3) {
        child_registers.eflags = (guest_flags() & ~std::uint64_t{flag_iopl}) | flag_interrupt;
        child_registers.cs = vcpu.cs;
        child_registers.ss = vcpu.ss;
    } else {
        child_registers.eflags = (vcpu.registers.rflags & native_flags) | flag_interrupt;
        child_registers.cs = user_code;
        child_registers.ss = user_data;
    }
}

void take(const Stop& stop) {
    switch (stop.reason) {
    case StopReason::event:
        event_taken();
        break;
    case StopReason::system_call:
        system_call_taken(false);
        break;
    case StopReason::exception:
        if (stop.vector != page_fault || !map_page(stop.address, stop.error_code)) {
            exception_taken(stop.vector, stop.error_code, stop.address);
        }
    }
}

} // namespace

void (*after_stop)() = [] {};

void run_guest() {
    for (;;) {
        prepare_return();
        leave();
        empty_outdated_address_space();
        set_alarm_for_timer();
        const Stop stop = run_child();
        clear_alarm();
        enter();
        after_stop();
        take(stop);
    }
}

} // namespace traced

} // namespace previrt
