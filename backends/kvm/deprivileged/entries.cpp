// SPDX-License-Identifier: BSD-2-Clause
// The functions that entry.S calls, and the tables by which the processor finds entry.S.
#include "frontends/x86/processor/entries.hpp"

#include "backends/common/ring3/flag_byte_entries.hpp"
#include "backends/common/ring3/quick_system_calls.hpp"
#include "backends/common/ring3/segment_bases.hpp"
#include "backends/common/ring3/site_entries.hpp"
#include "backends/common/ring3/state_instructions.hpp"
#include "backends/common/ring3/user_call_sites.hpp"
#include "backends/kvm/deprivileged/domain.hpp"
#include "backends/kvm/deprivileged/event_gate.h"
#include "backends/kvm/deprivileged/events.hpp"
#include "backends/kvm/deprivileged/fault_address.hpp"
#include "backends/kvm/deprivileged/processors.hpp"
#include "backends/kvm/deprivileged/segments.hpp"
#include "backends/kvm/deprivileged/user_calls.hpp"
#include "frontends/x86/paging/guest_memory.hpp"
#include "frontends/x86/processor/descriptors.hpp"
#include "frontends/x86/processor/exceptions.hpp"
#include "frontends/x86/processor/flags.hpp"
#include "frontends/x86/processor/processor_start.hpp"
#include "inplace-vmm/backend/page_tables.hpp"
#include "inplace-vmm/backend/processor_state.hpp"
#include "inplace-vmm/counters.hpp"
#include "inplace-vmm/instruction_counts.hpp"
#include "inplace-vmm/print.hpp"
#include "inplace-vmm/stop.hpp"
#include "inplace-vmm/vcpu.hpp"

#include <algorithm>
#include <iterator>

namespace previrt {

[[gnu::section("processor")]] Vcpu vcpu;

} // namespace previrt

namespace previrt::kvm {

extern "C" {
extern std::uint64_t trap_error_code;
extern std::uint64_t trap_cs;
extern std::uint64_t trap_ss;
extern std::uint8_t exit_changes_root;
extern std::uint32_t trap_vector;
extern std::uint8_t trap_in_user_root;
extern std::uint32_t pending;
extern std::uint8_t quick_system_calls;

extern const std::uint64_t exception_entries[20];
extern const std::uint64_t isolated_gates[20];
extern std::uint8_t vmm_text_start[];
extern std::uint8_t vmm_text_end[];
extern std::uint8_t shared_start[];
extern std::uint8_t shared_end[];
extern std::uint8_t image_start[];
extern std::uint8_t image_end[];

extern std::uint8_t trap_stack_top[];
extern std::uint8_t event_stack_top[];
extern std::uint8_t duplicate_stack_top[];
extern std::uint64_t guests_breakpoint_gate;
extern std::uint64_t level_0_leave_gate;

void level_0_leave();
void event_gate();
void isolated_event_gate();
void isolated_system_call_entry();
void system_call_entry();
// By a gate's lower half. The result is RAX.
std::uint64_t enter_level_0(std::uint64_t gate, std::uint64_t argument);
[[noreturn]] void kvm_start_entry();
[[noreturn]] void kvm_start_processor_entry();
extern std::uint64_t global_table[];
extern std::uint64_t local_table[];

[[gnu::section(".shared.tables")]] std::uint64_t interrupt_table[512];

// The 64-bit TSS holds only stacks.
struct [[gnu::packed]] Task {
    std::uint32_t reserved;
    std::uint64_t level_stacks[3];
    std::uint64_t reserved2;
    std::uint64_t interrupt_stacks[7];
    std::uint64_t reserved3;
    std::uint16_t reserved4;
    std::uint16_t io_map;
};
static_assert(sizeof(Task) == 104);
[[gnu::section(".shared.tables")]] Task task;

[[gnu::section(".header"), gnu::used]] const ImageHeader image_header = {
    .magic = {'p', 'v', 't', '-', 'k', 'v', 'm', '\0'},
    .entry = reinterpret_cast<std::uint64_t>(&kvm_start_entry),
    .global_table = reinterpret_cast<std::uint64_t>(&global_table),
    .global_table_bytes = (global_entries + own_entries) * sizeof(std::uint64_t),
    .local_table = reinterpret_cast<std::uint64_t>(&local_table),
    .local_table_bytes = local_entries * sizeof(std::uint64_t),
    .interrupt_table = reinterpret_cast<std::uint64_t>(&interrupt_table),
    .interrupt_table_bytes = sizeof(interrupt_table),
    .task = reinterpret_cast<std::uint64_t>(&task),
    .task_bytes = sizeof(task),
    .event_word = reinterpret_cast<std::uint64_t>(&pending),
    .system_call = reinterpret_cast<std::uint64_t>(&system_call_entry),
    .isolated_system_call = reinterpret_cast<std::uint64_t>(&isolated_system_call_entry),
    .processor_entry = reinterpret_cast<std::uint64_t>(&kvm_start_processor_entry),
    .processor_start = reinterpret_cast<std::uint64_t>(&processor_start),
    .processor_end = reinterpret_cast<std::uint64_t>(&processor_end),
    .instruction_counts = reinterpret_cast<std::uint64_t>(&instruction_counts),
};
}

namespace {

// With --isolate `syscall` leads to a page of the VMM's that user mode executes. An event before the page's
// one instruction came before the system call.
void leave_user_gate() {
    constexpr std::uint64_t system_call_bytes = 2;
    if (vcpu.registers.rip == reinterpret_cast<std::uint64_t>(&isolated_system_call_entry)) {
        vcpu.registers.rip = vcpu.registers.general[rcx] - system_call_bytes;
        vcpu.registers.rflags = vcpu.registers.general[r11];
    }
}

// A KVM that does not treat `syscall` of 32-bit code as Intel's processors do may enter level 0 at an address
// of the program's choice.
void check_level(std::uint16_t code) {
    constexpr unsigned level = 3;
    if ((code & level) != level) {
        stop_guest("this KVM gives user mode the privileges of the VMM's level 0; CS", code);
    }
}

// This KVM executes a program's iret with any selector for SS, and frames have it from then on, those of
// other programs too. No kernel could return to it.
std::uint16_t possible_stack_segment(std::uint16_t selector) {
    Descriptor descriptor{};
    const bool is_possible =
        selector == selector_user_data ||
        (read_descriptor(selector, descriptor) == Lookup::found && descriptor.is_writable());
    return is_possible ? selector : selector_user_data;
}

// The frame of 64-bit code may have any of the selectors that run it.
void take_state_from_frame(std::uint64_t address) {
    take_guest_state(address);
    if (vcpu.cpl == 3) {
        leave_user_gate();
        const auto code = static_cast<std::uint16_t>(trap_cs);
        if (code != selector_user_code || !is_long_code(static_cast<std::uint16_t>(vcpu.cs))) {
            check_level(code);
            vcpu.cs = code;
        }
        vcpu.ss = possible_stack_segment(static_cast<std::uint16_t>(trap_ss));
        take_user_flags();
    }
}

void enter_from_frame() {
    const std::uint64_t address = seen_address();
    enter_vmm();
    take_state_from_frame(address);
}

bool is_between(std::uint64_t address, const std::uint8_t* start, const std::uint8_t* end) {
    return address >= reinterpret_cast<std::uint64_t>(start) &&
           address < reinterpret_cast<std::uint64_t>(end);
}

bool runs_long_user_code() {
    return vcpu.cpl == 3 && is_long_code(static_cast<std::uint16_t>(vcpu.cs));
}

bool is_long_user_call(std::uint64_t address) {
    return runs_long_user_code() && is_user_call(address);
}

bool is_our_own(std::uint64_t address) {
    return trap_in_user_root == 0 && (is_between(address, vmm_text_start, vmm_text_end) ||
                                      is_between(address, shared_start, shared_end));
}

// Of the code that acts for the guest's kernel.
bool is_step_in_image(std::uint8_t vector) {
    return vector == debug_exception && vcpu.cpl == 0 &&
           is_between(vcpu.registers.rip, image_start, image_end);
}

// User mode came here by a rewritten site of the kernel's text: with --isolate it may not execute the site's
// target.
bool is_at_site_code_of_kernel(std::uint8_t vector, std::uint64_t fault_address) {
    const std::uint64_t here = vcpu.registers.rip;
    return vcpu.cpl == 3 && (vector == debug_exception || (vector == page_fault && fault_address == here)) &&
           is_site_code(here);
}

// In a site that has become a jump. Behind its stub's system call the fault is the program's.
bool is_behind_user_call(std::uint64_t executed) {
    return runs_long_user_code() && resolve_user_call(executed);
}

// KVM's interpreter takes `int n` for an invalid opcode, whatever the gate says. This restores the
// processor's exception.
void restore_software_interrupt(std::uint8_t& vector) {
    constexpr std::uint8_t int_n = 0xcd;
    constexpr std::uint64_t in_idt = 2;
    std::uint8_t code[2];
    const Privilege privilege = vcpu.cpl == 3 ? Privilege::user : Privilege::supervisor;
    if (vector != invalid_opcode ||
        peek_guest(vcpu.registers.rip, code, sizeof(code), privilege) != sizeof(code) || code[0] != int_n) {
        return;
    }
    trap_error_code = (std::uint64_t{code[1]} * 8) | in_idt;
    vector = general_protection;
    vcpu.registers.rflags &= ~std::uint64_t{flag_resume}; // set by a fault, not by an interrupt
}

// The monitor presents an Intel processor to KVM (monitor/kvm/processor.cpp), on which `syscall` of 32-bit
// code is an invalid opcode. On another, KVM would enter level 0 at an address cut to 32 bits, where a
// program may have code. The guest's processor is the one of its CPUID, and AMD's execute the instruction.
bool take_system_call_32(std::uint8_t vector) {
    constexpr std::uint32_t amd = 0x68747541; // EBX of "AuthenticAMD"
    constexpr std::uint8_t system_call[] = {0x0f, 0x05};
    std::uint8_t code[sizeof(system_call)];
    if (vector != invalid_opcode || vcpu.cpl != 3 || runs_long_user_code() ||
        peek_guest(vcpu.registers.rip, code, sizeof(code), Privilege::user) != sizeof(code) ||
        !std::equal(std::begin(code), std::end(code), system_call) || backend::host_cpuid(0, 0).ebx != amd) {
        return false;
    }
    vcpu.registers.rip += sizeof(system_call);
    system_call_taken(true);
    return true;
}

// The processor may hold the VMM already.
[[noreturn]] void stop_at_own_fault(std::uint8_t vector, std::uint32_t error_code) {
    const std::uint64_t fault_address = vector == page_fault ? find_fault_address(error_code) : 0;
    Print() << "previrt-vmm: exception " << unsigned{vector} << " with code " << Hex{error_code}
            << " in the VMM itself, address " << Hex{fault_address} << '\n';
    stop_guest("an exception in the VMM, at", vcpu.registers.rip);
}

} // namespace

extern "C" {

void exception_entered() {
    auto vector = static_cast<std::uint8_t>(trap_vector);
    const auto error_code = static_cast<std::uint32_t>(trap_error_code);
    const std::uint64_t executed = vcpu.registers.rip;
    if (is_our_own(executed) && !is_step_in_image(vector)) {
        stop_at_own_fault(vector, error_code);
    }
    const std::uint64_t seen = seen_address();
    enter_vmm();
    const std::uint64_t reads_of_address = counters.hypercalls[call_read_fault_address];
    const std::uint64_t fault_address = vector == page_fault ? find_fault_address(error_code) : 0;
    const bool has_read_address = counters.hypercalls[call_read_fault_address] != reads_of_address;
    leave_state_instruction();
    const bool is_step = is_step_in_image(vector);
    const bool is_at_site_code = is_at_site_code_of_kernel(vector, fault_address);
    take_state_from_frame(seen);
    if (is_step) {
        finish_step();
        leave();
        return;
    }
    if (is_at_site_code) {
        execute_site_for_user(vector == debug_exception);
        leave();
        return;
    }
    restore_software_interrupt(vector);
    if (take_system_call_32(vector) || (vector == general_protection && is_behind_user_call(executed))) {
        leave();
        return;
    }
    exception_taken(vector, static_cast<std::uint32_t>(trap_error_code), fault_address);
    if (has_read_address) {
        count_crossing(call_read_fault_address); // the entry was not known before
    }
    leave();
}

void event_entered() {
    enter_from_frame();
    leave_site_code();
    event_taken();
    leave();
}

// The processor waits for its start.
void processor_entered() {
    enter_vmm();
    start_own_events();
    begin_processor();
    leave();
}

void system_call_entered() {
    enter();
    take_user_flags();
    note_user_call(vcpu.registers.rip);
    system_call_taken(false);
    leave();
}
}

namespace {

enum InterruptStack : std::uint8_t { trap_stack = 1, event_stack = 2, duplicate_stack = DUPLICATE_STACK };
static_assert(event_vector == EVENT_VECTOR);

// The lower half of a gate. Trap gates to level 3: all other gates turn the processor's interrupts off, and
// nothing at level 3 could enable them again. Interrupt gates to level 0.
std::uint64_t gate_to(std::uint64_t entry, std::uint16_t selector, InterruptStack stack) {
    constexpr std::uint64_t trap_gate = 0xef;      // present, open to level 3
    constexpr std::uint64_t interrupt_gate = 0xee; // present, open to level 3
    const std::uint64_t type = selector == selector_level_0 ? interrupt_gate : trap_gate;
    return (entry & 0xffffU) | (std::uint64_t{selector} << 16U) | (std::uint64_t{stack} << 32U) |
           (type << 40U) | (((entry >> 16U) & 0xffffU) << 48U);
}

// The upper half is the same for all places of the VMM.
void set_gate(std::size_t vector, std::uint64_t entry, std::uint16_t selector, InterruptStack stack) {
    interrupt_table[vector * 2] = gate_to(entry, selector, stack);
    interrupt_table[(vector * 2) + 1] = entry >> 32U;
}

std::uint64_t first_event_gate; // the lower half of the gate, while no event is to be acknowledged

template <typename Place>
std::uint64_t address_of(Place* place) {
    return reinterpret_cast<std::uint64_t>(place);
}

} // namespace

std::uint64_t call_level_0(Level0Function* function, std::uint64_t argument) {
    return enter_level_0(gate_to(address_of(function), selector_level_0, trap_stack), argument);
}

void lead_next_event_in() {
    __atomic_store_n(&interrupt_table[std::size_t{event_vector} * 2], first_event_gate, __ATOMIC_RELAXED);
}

void start_entries() {
    const bool isolates = backend::separates_user_mode();
    const std::uint64_t* const entries = isolates ? isolated_gates : exception_entries;
    const std::uint16_t selector = isolates ? selector_level_0 : selector_user_code;
    for (unsigned vector = 0; vector < 20; ++vector) {
        if (entries[vector] != 0) {
            set_gate(vector, entries[vector], selector, trap_stack);
        }
    }
    set_gate(event_vector, isolates ? address_of(isolated_event_gate) : address_of(event_gate),
             selector_level_0, event_stack);
    first_event_gate = interrupt_table[std::size_t{event_vector} * 2];
    guests_breakpoint_gate = interrupt_table[std::size_t{breakpoint} * 2];
    level_0_leave_gate = gate_to(address_of(level_0_leave), selector_level_0, trap_stack);
    task.interrupt_stacks[trap_stack - 1] = address_of(trap_stack_top);
    task.interrupt_stacks[event_stack - 1] = address_of(event_stack_top);
    task.interrupt_stacks[duplicate_stack - 1] = address_of(duplicate_stack_top);
    task.level_stacks[0] = address_of(trap_stack_top);
    task.io_map = sizeof(task);
    start_site_trampolines();
}

} // namespace previrt::kvm

namespace previrt {

using namespace kvm;

void leave() {
    prepare_return();
    step_through_user_call(is_long_user_call);
    if (was_gathered()) {
        backend::invalidate_all();
    }
    enter_state_instruction();
    quick_system_calls =
        system_calls_may_be_quick() && !backend::separates_user_mode() && entries_are_flushed() ? 1 : 0;
    fill_exit_frame();
    exit_changes_root = vcpu.cpl == 3 && backend::separates_user_mode() ? 1 : 0;
    if (runs_long_user_code()) {
        exit_frame.cs = selector_user_code;
        vcpu.registers.rip = address_executed(vcpu.registers.rip);
    }
    exit_needs_iret = needs_iret() ? 1 : 0;
    if (vcpu.cpl == 3) {
        leave_kernel_bases();
    }
    leave_vmm();
}

} // namespace previrt
