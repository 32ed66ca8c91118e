// SPDX-License-Identifier: BSD-2-Clause
// The functions that entry.S calls, and the registration of entry.S with Xen.
#include "frontends/x86/processor/entries.hpp"

#include "backends/common/ring3/flag_byte_entries.hpp"
#include "backends/common/ring3/quick_system_calls.hpp"
#include "backends/common/ring3/site_entries.hpp"
#include "backends/common/ring3/state_instructions.hpp"
#include "backends/xen/domain.hpp"
#include "backends/xen/event_ports.hpp"
#include "backends/xen/layout.hpp"
#include "backends/xen/lent_stack.hpp"
#include "backends/xen/table_updates.hpp"
#include "frontends/x86/paging/guest_memory.hpp"
#include "frontends/x86/processor/exceptions.hpp"
#include "frontends/x86/processor/flags.hpp"
#include "frontends/x86/processor/processor_start.hpp"
#include "frontends/x86/processor/usual_return.hpp"
#include "frontends/x86/sites/quiet_sites.hpp"
#include "frontends/x86/sites/table_sites.hpp"
#include "inplace-vmm/backend/processors.hpp"
#include "inplace-vmm/print.hpp"
#include "inplace-vmm/rewriter.hpp"
#include "inplace-vmm/stop.hpp"
#include "inplace-vmm/vcpu.hpp"

#include <cstddef>

namespace previrt {

[[gnu::section("processor")]] Vcpu vcpu;

}

namespace previrt::xen {

extern "C" {
extern std::uint64_t trap_error_code;
extern std::uint64_t trap_cs; // Xen puts the previous event mask into bits 32-39
extern std::uint64_t trap_ss;
extern std::uint64_t exit_user_flags;
extern std::uint32_t trap_vector;
extern std::uint8_t entry_mask;
extern std::uint8_t exit_mask;
extern std::uint8_t quick_system_calls;
extern std::uint64_t jump_rax;
extern std::uint64_t return_rsp;
extern std::uint64_t return_flags;
extern const std::uint8_t interrupt_return_reads[];
extern const std::uint8_t interrupt_return_reads_end[];

extern const std::uint64_t exception_entries[20];

void event_callback();
void failsafe_callback();
void system_call_callback();
void system_call_32_callback();
extern std::uint8_t image_start[];
extern std::uint8_t image_end[];
}

static_assert(offsetof(UsualReturn, code) == 0 && offsetof(UsualReturn, stack) == 8 &&
              offsetof(UsualReturn, code_descriptor) == 16 && offsetof(UsualReturn, stack_descriptor) == 24);

namespace {

bool has_others() {
    return backend::processor_count() != 1;
}

void enter_alone() {
    if (has_others()) {
        enter_vmm();
        take_stack_back();
    }
}

void leave_to_others() {
    if (has_others()) {
        leave_vmm();
        see_noted_events();
    }
}

void enter_with_mask(bool masked) {
    enter_alone();
    leave_state_instruction();
    vcpu.interrupt_flag = !masked || vcpu.events_held;
    vcpu.events_held = false;
}

void enter_from_frame() {
    enter_with_mask(((trap_cs >> 32U) & 0xffU) != 0);
    if (vcpu.cpl == 3) {
        vcpu.cs = static_cast<std::uint16_t>(trap_cs);
        vcpu.ss = static_cast<std::uint16_t>(trap_ss);
        take_user_flags();
    }
}

bool is_in_image(std::uint64_t address) {
    return address >= reinterpret_cast<std::uint64_t>(image_start) &&
           address < reinterpret_cast<std::uint64_t>(image_end);
}

// The quick way of iret reads the guest's memory as the guest would. The general way walks the guest's
// tables.
bool reads_return_frame(std::uint64_t address) {
    return address >= reinterpret_cast<std::uint64_t>(interrupt_return_reads) &&
           address < reinterpret_cast<std::uint64_t>(interrupt_return_reads_end);
}

std::uint8_t leave() {
    prepare_return();
    enter_state_instruction();
    quick_system_calls = system_calls_may_be_quick() && updates_are_flushed() ? 1 : 0;
    if (vcpu.cpl == 0 && !is_canonical(vcpu.registers.rip)) {
        stop_guest("the guest's kernel jumps to a non-canonical address:", vcpu.registers.rip);
    }
    exit_mask = !vcpu.interrupt_flag || vcpu.events_held ? 1 : 0;
    exit_user_flags = (guest_flags() & ~std::uint64_t{flag_iopl | flag_interrupt}) |
                      (exit_mask == 0 ? std::uint64_t{flag_interrupt} : 0);
    lend_stack();
    leave_to_others();
    return vcpu.cpl == 3 ? 1 : 0;
}

// Those sites return by the guest's stack. False: the site is still to be executed.
bool execute_quickly(bool (*execute)(std::uint64_t return_address)) {
    enter_alone();
    const bool is_done =
        vcpu.cpl == 0 && !vcpu.events_held && !vcpu.stack_may_be_missing && execute(vcpu.registers.rip);
    if (!is_done) {
        leave_to_others();
    }
    return is_done;
}

} // namespace

extern "C" {

std::uint8_t site_call_entered() {
    enter_with_mask(entry_mask != 0);
    site_called(vcpu.registers.rip);
    return leave();
}

// 0: the site is still to be executed.
std::uint8_t table_site_entered() {
    if (!execute_quickly(execute_table_site)) {
        return 0;
    }
    quick_system_calls = updates_are_flushed() ? quick_system_calls : 0;
    leave_to_others();
    return 1;
}

std::uint8_t quiet_site_entered() {
    if (!execute_quickly(execute_quiet_site)) {
        return 0;
    }
    quick_system_calls = system_calls_may_be_quick() && updates_are_flushed() ? 1 : 0;
    leave_to_others();
    return 1;
}

// An event came while the VMM executed one of these, with the guest's interrupts enabled.
std::uint8_t event_found() {
    enter_with_mask(entry_mask != 0);
    event_taken();
    return leave();
}

std::uint8_t site_jump_entered() {
    forget_state_instruction();
    enter_with_mask(entry_mask != 0);
    site_jumped(jumping_site());
    return leave();
}

std::uint8_t exception_entered() {
    const auto vector = static_cast<std::uint8_t>(trap_vector);
    leave_state_instruction();
    if (vcpu.cpl == 0 && reads_return_frame(vcpu.registers.rip)) {
        vcpu.registers.general[rax] = jump_rax;
        vcpu.registers.general[rsp] = return_rsp;
        vcpu.registers.rflags = return_flags;
        enter_with_mask(entry_mask != 0);
        site_jumped(jumping_site());
        return leave();
    }
    if (vcpu.cpl == 3 && is_site_code(vcpu.registers.rip)) {
        enter_from_frame();
        execute_site_for_user(vector == debug_exception);
        return leave();
    }
    const std::uint64_t fault_address = vcpu_information.arch.cr2;
    if (vcpu.cpl == 0 && is_in_image(vcpu.registers.rip)) {
        if (vector == debug_exception) {
            enter_from_frame();
            finish_step();
            return leave();
        }
        // The processor may hold the VMM already.
        Print() << "previrt-vmm: exception " << unsigned{vector} << " with code " << Hex{trap_error_code}
                << " in the VMM itself, address " << Hex{fault_address} << '\n';
        stop_guest("an exception in the VMM, at", vcpu.registers.rip);
    }
    enter_from_frame();
    exception_taken(vector, static_cast<std::uint32_t>(trap_error_code), fault_address);
    return leave();
}

std::uint8_t event_entered() {
    enter_from_frame();
    if (vcpu.cpl == 0) {
        leave_site_code();
    }
    event_taken();
    return leave();
}

std::uint8_t return_interrupted() {
    enter_alone();
    leave_state_instruction();
    event_taken();
    return leave();
}

// The processor waits for its start.
std::uint8_t processor_entered() {
    enter_vmm();
    start_own_entries();
    start_own_segments();
    begin_processor();
    return leave();
}

std::uint8_t system_call_entered() {
    enter_with_mask(((trap_cs >> 32U) & 0xffU) != 0);
    take_user_flags();
    system_call_taken(false);
    return leave();
}

std::uint8_t system_call_32_entered() {
    enter_with_mask(((trap_cs >> 32U) & 0xffU) != 0);
    take_user_flags();
    system_call_taken(true);
    return leave();
}

[[noreturn]] void failsafe_entered() {
    stop_guest("Xen could not load the guest's segments or return to it; CS", vcpu.cs);
}
}

namespace {

void register_callback(std::uint16_t type, void (*entry)(), bool masks_events) {
    callback_register callback{};
    callback.type = type;
    callback.flags = masks_events ? CALLBACKF_mask_events : 0;
    callback.address = reinterpret_cast<std::uint64_t>(entry);
    must_succeed(__HYPERVISOR_callback_op, "callback_op", CALLBACKOP_register, address_of(&callback));
}

} // namespace

extern "C" std::uint8_t vmm_stack_top[];

void start_entries() {
    start_own_entries();
    start_site_trampolines();
}

void start_own_entries() {
    constexpr std::uint8_t masks_events = 4;
    trap_info traps[20] = {};
    unsigned count = 0;
    for (std::uint8_t vector = 0; vector < 20; ++vector) {
        if (exception_entries[vector] == 0) {
            continue;
        }
        // int3 and into are for user mode too; the front-end checks the guest's gate.
        const bool from_user = vector == breakpoint || vector == overflow;
        traps[count++] = {.vector = vector,
                          .flags = static_cast<std::uint8_t>(masks_events | (from_user ? 3U : 0U)),
                          .cs = FLAT_KERNEL_CS,
                          .address = exception_entries[vector]};
    }
    must_succeed(__HYPERVISOR_set_trap_table, "set_trap_table", address_of(traps));
    must_succeed(__HYPERVISOR_stack_switch, "stack_switch", FLAT_KERNEL_SS,
                 reinterpret_cast<std::uint64_t>(vmm_stack_top));
    register_callback(CALLBACKTYPE_event, event_callback, true);
    register_callback(CALLBACKTYPE_failsafe, failsafe_callback, true);
    register_callback(CALLBACKTYPE_syscall, system_call_callback, true);
    register_callback(CALLBACKTYPE_syscall32, system_call_32_callback, true);
}

} // namespace previrt::xen
