// SPDX-License-Identifier: BSD-2-Clause
#include "backends/common/ring3/flag_byte_entries.hpp"

#include "backends/common/ring3/segment_bases.hpp"
#include "backends/common/ring3/selectors.hpp"
#include "backends/common/ring3/site_entries.hpp"
#include "backends/common/ring3/state_instructions.hpp"
#include "backends/common/ring3/user_call_sites.hpp"
#include "frontends/x86/processor/entries.hpp"
#include "frontends/x86/processor/exceptions.hpp"
#include "frontends/x86/processor/flags.hpp"
#include "inplace-vmm/stop.hpp"
#include "inplace-vmm/vcpu.hpp"

namespace previrt {

// User mode changes neither IF nor the effect of swapgs. But if it executes rewritten text of the kernel, the
// cells of both may have changed.
void take_guest_state(std::uint64_t address) {
    leave_state_instruction();
    if (vcpu.cpl == 3) {
        vcpu.gs_exchanged = 0xff;
        enter_kernel_bases();
        vcpu.registers.rip = address;
    } else {
        vcpu.interrupt_flag = interrupts_disabled == 0 || vcpu.events_held;
    }
    vcpu.events_held = false;
}

std::uint64_t seen_address() {
    return vcpu.cpl == 3 ? address_seen(vcpu.registers.rip) : vcpu.registers.rip;
}

void enter() {
    const std::uint64_t address = seen_address();
    enter_vmm();
    take_guest_state(address);
}

namespace {

void enter_from_site() {
    enter();
    if (vcpu.cpl == 3) {
        take_user_flags();
    }
}

} // namespace

void fill_exit_frame() {
    if (vcpu.cpl == 0 && !is_canonical(vcpu.registers.rip)) {
        stop_guest("the guest's kernel jumps to a non-canonical address:", vcpu.registers.rip);
    }
    exit_disabled = !vcpu.interrupt_flag || vcpu.events_held ? 1 : 0;
    if (vcpu.cpl == 0) {
        exit_frame.rflags = (vcpu.registers.rflags & native_flags) | flag_reserved_one | flag_interrupt;
        exit_frame.cs = selector_user_code;
        exit_frame.ss = selector_user_data;
    } else {
        exit_frame.rflags = (guest_flags() & ~std::uint64_t{flag_iopl}) | flag_interrupt;
        exit_frame.cs = vcpu.cs;
        exit_frame.ss = vcpu.ss;
    }
}

bool needs_iret() {
    return exit_frame.cs != selector_user_code || exit_frame.ss != selector_user_data ||
           (exit_frame.rflags & flag_trap) != 0 || !is_canonical(vcpu.registers.rip);
}

extern "C" {

void site_call_entered() {
    enter_from_site();
    site_called(vcpu.registers.rip);
    leave();
}

void site_jump_entered() {
    forget_state_instruction();
    enter_from_site();
    site_jumped(jumping_site());
    leave();
}

void return_interrupted() {
    enter();
    event_taken();
    leave();
}

void return_refused() {
    enter();
    raise_exception(general_protection, 0);
    leave();
}
}

} // namespace previrt
