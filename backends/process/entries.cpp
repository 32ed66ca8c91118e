// SPDX-License-Identifier: BSD-2-Clause
// The functions that entry.S calls.
#include "backends/process/entries.hpp"

#include "backends/common/ring3/flag_byte_entries.hpp"
#include "backends/common/ring3/quick_system_calls.hpp"
#include "backends/common/ring3/segment_bases.hpp"
#include "backends/common/ring3/site_entries.hpp"
#include "backends/common/ring3/state_instructions.hpp"
#include "backends/common/ring3/user_call_sites.hpp"
#include "backends/process/address_space_processes.hpp"
#include "backends/process/domain.hpp"
#include "backends/process/frame.hpp"
#include "backends/process/host_changes.hpp"
#include "backends/process/host_map.hpp"
#include "backends/process/local_table.hpp"
#include "backends/process/placeless_calls.hpp"
#include "backends/process/processors.hpp"
#include "backends/process/segments.hpp"
#include "backends/process/system_call.hpp"
#include "backends/process/thread_segments.hpp"
#include "backends/process/user_mode/calls.hpp"
#include "backends/process/user_mode/process.hpp"
#include "backends/process/user_mode/user_mode.hpp"
#include "frontends/x86/devices/device_access.hpp"
#include "frontends/x86/linux_boot/guest_image.hpp"
#include "frontends/x86/paging/page_entry.hpp"
#include "frontends/x86/paging/shadow/tables.hpp"
#include "frontends/x86/processor/entries.hpp"
#include "frontends/x86/processor/exceptions.hpp"
#include "frontends/x86/processor/flags.hpp"
#include "frontends/x86/processor/processor_start.hpp"
#include "inplace-vmm/backend/page_tables.hpp"
#include "inplace-vmm/counters.hpp"
#include "inplace-vmm/instruction_counts.hpp"
#include "inplace-vmm/print.hpp"
#include "inplace-vmm/stop.hpp"
#include "inplace-vmm/vcpu.hpp"

#include <algorithm>

namespace previrt {

[[gnu::section("processor")]] Vcpu vcpu;

}

namespace previrt::process {

extern "C" {
extern std::uint8_t quick_system_calls;
extern std::uint32_t pending;
extern std::uint8_t image_start[];
extern std::uint8_t image_end[];
extern std::uint8_t vmm_text_start[];
extern std::uint8_t vmm_text_end[];
void signal_entry();
void signal_return();

[[gnu::section(".header"), gnu::used]] const ImageHeader image_header = {
    .magic = {'p', 'v', 't', '-', 'p', 'r', 'o', 'c'},
    .image_end = reinterpret_cast<std::uint64_t>(&image_end),
    .event_word = reinterpret_cast<std::uint64_t>(&pending),
    .instruction_counts = reinterpret_cast<std::uint64_t>(&instruction_counts),
};
}

namespace {

// The contents of the last signal.
struct Taken {
    std::uint64_t signal;
    std::uint8_t vector;
    std::uint32_t error_code;
    std::uint64_t address;
    std::uint64_t rip;
    std::uint32_t architecture;
    std::uint16_t cs;
    std::uint16_t ss;
};
[[gnu::section("processor")]] Taken taken;

// The page that the guest's kernel is handling a fault for. When the kernel lets the instruction run again,
// the VMM maps the page in advance.
struct Awaited {
    std::uint64_t address;
    std::uint64_t rip;
    backend::TableNumber root = no_root; // of the current host process
    HostAccess access;
    bool by_user;
};
[[gnu::section("processor")]] constinit Awaited awaited{};

void enter_from_frame() {
    enter();
    if (vcpu.cpl == 3) {
        vcpu.cs = taken.cs;
        vcpu.ss = taken.ss;
        take_user_flags();
        if (taken.ss != selector_user_data) { // the host leaves it so, and the VMM loads none
            asm volatile("mov %0, %%ss" : : "r"(std::uint32_t{selector_user_data}));
        }
    }
}

// The VMM knows user mode's bases, and the real ones are still the kernel's.
void enter_from_user_process() {
    vcpu.gs_exchanged = 0xff;
    vcpu.registers.rip = address_seen(vcpu.registers.rip);
    vcpu.events_held = false;
    take_user_flags();
}

// With --isolate, user mode has other tables and another process.
bool is_isolated_user() {
    return vcpu.cpl == 3 && isolates();
}

Filled fill_page(std::uint64_t address, HostAccess access) {
    return is_isolated_user() ? fill_user(current_host().user_root, address, access)
                              : fill_host(shadow_root_of(address), address, access);
}

void fill_awaited() {
    if (vcpu.registers.rip == awaited.rip && awaited.root == current_host().root() &&
        awaited.by_user == is_isolated_user()) {
        fill_page(awaited.address, awaited.access);
        awaited.root = no_root;
    }
}

// The host reads it, and raises no fault.
void fill_stack_of_placeless_call() {
    constexpr HostAccess read{};
    const std::uint64_t address = stack_of_placeless_call();
    if (address != 0 && fill_page(address, read) == Filled::absent &&
        shadow_fault(address, {.write = false, .user = true, .fetch = false}).verdict ==
            FaultVerdict::hidden) {
        fill_page(address, read);
    }
}

void prepare_to_leave() {
    prepare_return();
    step_through_user_call(is_user_call);
    fill_awaited();
    fill_stack_of_placeless_call();
}

// Linux first runs at physical addresses; there it calls the VMM at an alias that nothing maps. True: the
// guest continues at the VMM's real address.
bool went_to_alias() {
    const std::uint64_t target = taken.address + kernel_link_delta();
    const bool is_early = counters.user_returns == 0 && kernel_link_delta() != 0 && vcpu.cpl == 0;
    if (!is_early || target < image_address || target >= image_address + image_room) {
        return false;
    }
    if (vcpu.registers.rip == taken.address) {
        vcpu.registers.rip = target;
        return true;
    }
    stop_guest("the guest's kernel uses memory at an alias of the VMM:", taken.address);
}

// False: the guest's own tables have to decide first.
bool fill(HostAccess access) {
    const Filled filled = fill_page(taken.address, access);
    if (filled == Filled::refused) {
        if (access.fetch) {
            stop_guest("the guest executes where the host maps nothing (vm.mmap_min_addr), at",
                       taken.address);
        }
        execute_unmapped_access(taken.address);
    }
    return filled != Filled::absent;
}

void take_page_fault() {
    constexpr HostAccess none{};
    HostAccess access = none;
    access.write = (taken.error_code & fault_write) != 0;
    access.fetch = (taken.error_code & fault_fetch) != 0;
    if (went_to_alias()) {
        return;
    }
    begin_entry_here();
    if ((access.write && let_kernel_write(taken.address)) || fill(access)) {
        count_entry(Cause::host_fault);
        return;
    }
    const std::uint64_t rip = vcpu.registers.rip;
    const bool by_user = is_isolated_user();
    exception_taken(page_fault, taken.error_code, taken.address);
    // After a hidden fault the shadow has the page.
    if (by_user != is_isolated_user() || !fill(access)) {
        awaited = {.address = taken.address,
                   .rip = rip,
                   .root = isolates() ? current_host().root() : shadow_root_of(taken.address),
                   .access = access,
                   .by_user = by_user};
    }
}

// The host takes `int $0x80` for a system call of its own. This restores the processor's exception.
void take_software_interrupt() {
    constexpr std::uint32_t vector_80_in_idt = (0x80 * 8) | 2;
    constexpr std::uint64_t instruction_bytes = 2;
    vcpu.registers.rip -= instruction_bytes;
    exception_taken(general_protection, vector_80_in_idt, 0);
}

// User mode came here by a rewritten site of the kernel's text: with --isolate it cannot execute the site's
// target.
bool is_at_site_code_of_kernel(std::uint64_t here) {
    const bool is_there = taken.vector == debug_exception ||
                          (isolates() && taken.vector == page_fault && taken.address == here);
    return vcpu.cpl == 3 && is_there && is_site_code(here);
}

void take_exception() {
    const std::uint64_t here = vcpu.registers.rip;
    if (taken.vector == debug_exception && vcpu.cpl == 0 && here >= image_address &&
        here < image_address + image_room) {
        finish_step();
    } else if (is_at_site_code_of_kernel(here)) {
        execute_site_for_user(taken.vector == debug_exception);
    } else if (taken.vector == page_fault) {
        take_page_fault();
    } else if (vcpu.cpl == 3 && (taken.vector == invalid_opcode || taken.vector == general_protection) &&
               resolve_user_call(taken.rip)) {
        return;
    } else {
        exception_taken(taken.vector, taken.error_code, taken.address);
    }
}

void dispatch_signal() {
    const bool is_event =
        taken.signal == timer_signal || taken.signal == event_signal || taken.signal == user_signal;
    if (is_event) {
        __atomic_fetch_or(&pending, event_pending, __ATOMIC_SEQ_CST);
    }
    if (vcpu.cpl == 3 && is_placeless_call(taken.rip, taken.cs)) {
        take_placeless_call();
    } else if (is_event) {
        if (!is_isolated_user()) {
            leave_site_code();
        }
        event_taken();
    } else if (taken.signal != signal_system_call) {
        take_exception();
    } else if (taken.architecture != architecture_64) {
        take_software_interrupt();
    } else {
        note_user_call(isolates() ? current_host().user_root : current_host().root(), vcpu.registers.rip);
        system_call_taken(false);
    }
}

} // namespace

extern "C" {

void take_frame(std::uint64_t signal, const SignalInformation* information, const Frame* frame) {
    taken = {.signal = signal,
             .vector = static_cast<std::uint8_t>(frame->vector),
             .error_code = static_cast<std::uint32_t>(frame->error_code),
             .address = frame->cr2,
             .rip = frame->rip,
             .architecture = information->architecture,
             .cs = frame->cs,
             .ss = frame->ss};
    auto& general = vcpu.registers.general;
    general[rax] = frame->rax;
    general[rcx] = frame->rcx;
    general[rdx] = frame->rdx;
    general[rbx] = frame->rbx;
    general[rsp] = frame->rsp;
    general[rbp] = frame->rbp;
    general[rsi] = frame->rsi;
    general[rdi] = frame->rdi;
    for (unsigned i = 0; i < 8; ++i) {
        general[r8 + i] = frame->r8_to_r15[i];
    }
    vcpu.registers.rip = frame->rip;
    vcpu.registers.rflags = frame->rflags;
}

void signal_taken() {
    enter_from_frame();
    dispatch_signal();
    leave();
}

void vmm_faulted(std::uint64_t signal, const Frame* frame) {
    Print() << "previrt-vmm: signal " << signal << ", exception " << frame->vector << " with code "
            << Hex{frame->error_code} << " in the VMM itself, address " << Hex{frame->cr2} << '\n';
    stop_guest("an exception in the VMM, at", frame->rip);
}

// The processor waits for its start.
void processor_entered() {
    enter_vmm();
    follow_local_table(); // the process is a copy of another processor's
    follow_thread_segments();
    begin_processor();
    leave();
}

void system_call_entered() {
    enter();
    vcpu.cs = selector_user_code;
    vcpu.ss = selector_user_data;
    take_user_flags();
    system_call_taken(false);
    leave();
}
}

void take_user_signal(std::uint64_t signal, const SignalInformation& information, const Frame& frame) {
    take_frame(signal, &information, &frame);
    constexpr std::uint32_t error_code_bits = 0xffff; // the meaningful bits, also of a page fault
    taken.error_code &= error_code_bits;
    // The vectors of faults that a program can raise; any other becomes #GP.
    constexpr std::uint32_t programs_faults = 0x000b787b;
    if (taken.vector >= 32 || (programs_faults >> taken.vector & 1U) == 0) {
        taken.vector = general_protection;
        taken.error_code = 0;
    }
    enter_from_user_process();
    vcpu.cs = taken.cs;
    vcpu.ss = taken.ss;
    dispatch_signal();
}

void take_user_call(const std::uint64_t (&general)[16], std::uint64_t rip) {
    std::ranges::copy(general, vcpu.registers.general);
    vcpu.registers.rip = rip;
    vcpu.registers.rflags = general[r11];
    enter_from_user_process();
    vcpu.cs = selector_user_code;
    vcpu.ss = selector_user_data;
    system_call_taken(false);
}

void take_user_event() {
    vcpu.gs_exchanged = 0xff;
    vcpu.events_held = false;
    event_taken();
}

void refuse_user_return() {
    vcpu.gs_exchanged = 0xff;
    vcpu.events_held = false;
    raise_exception(general_protection, 0);
}

// entry.S
static_assert(PRIVATE_ADDRESS == private_address && PRIVATE_STACK_TOP == private_address + private_bytes);
static_assert(EVENT_SIGNAL == event_signal && TIMER_SIGNAL == timer_signal && USER_SIGNAL == user_signal);

namespace {

struct Action {
    std::uint64_t handler;
    std::uint64_t flags;
    std::uint64_t restorer;
    std::uint64_t mask;
};

void handle(std::uint8_t signal) {
    constexpr std::uint64_t with_information = 4;
    constexpr std::uint64_t has_restorer = 0x04000000;
    constexpr std::uint64_t on_own_stack = 0x08000000;
    constexpr std::uint64_t not_deferred = 0x40000000;
    const Action action{.handler = reinterpret_cast<std::uint64_t>(&signal_entry),
                        .flags = with_information | has_restorer | on_own_stack | not_deferred,
                        .restorer = reinterpret_cast<std::uint64_t>(&signal_return),
                        .mask = 0};
    if (call_host(call_rt_sigaction,
                  {.first = signal, .second = address_of(&action), .fourth = sizeof(action.mask)}) != 0) {
        stop_guest("the host does not let this signal be handled:", signal);
    }
}

void use_own_stack() {
    struct {
        std::uint64_t address;
        std::uint64_t flags;
        std::uint64_t bytes;
    } const stack{.address = private_address + page_size, .flags = 0, .bytes = private_bytes - page_size};
    if (call_host(call_sigaltstack, {.first = address_of(&stack)}) != 0) {
        stop_guest("the host refuses a stack for signals");
    }
}

} // namespace

void start_entries() {
    for (const std::uint8_t signal :
         {std::uint8_t{signal_illegal}, std::uint8_t{signal_trap}, std::uint8_t{signal_bus},
          std::uint8_t{signal_arithmetic}, std::uint8_t{signal_segment}, std::uint8_t{signal_system_call},
          std::uint8_t{event_signal}, std::uint8_t{timer_signal}}) {
        handle(signal);
    }
    // A user process ignores this signal until it has a handler of its own: the templates are there already.
    if (handover.processors != 1) {
        handle(user_signal);
    }
    use_own_stack();
    start_placeless_calls();
    start_site_trampolines();
}

void start_signals() {
    if (call_host(call_prctl, {.first = set_user_dispatch,
                               .second = dispatch_on,
                               .third = address_of(vmm_text_start),
                               .fourth = static_cast<std::uint64_t>(vmm_text_end - vmm_text_start)}) != 0) {
        stop_guest("the host has no Syscall User Dispatch (Linux 5.11)");
    }
    start_timer_of_host();
}

} // namespace previrt::process

namespace previrt {

using namespace process;

void leave() {
    prepare_to_leave();
    while (is_isolated_user()) {
        run_user_mode();
        prepare_to_leave();
    }
    if (was_gathered()) {
        follow_changes();
    }
    enter_state_instruction();
    quick_system_calls = !isolates() && system_calls_may_be_quick() && changes_are_followed() ? 1 : 0;
    fill_exit_frame();
    if (vcpu.cpl == 3) {
        vcpu.registers.rip = address_executed(vcpu.registers.rip);
        leave_kernel_bases();
    }
    exit_needs_iret = needs_iret() ? 1 : 0;
    leave_vmm();
}

} // namespace previrt
