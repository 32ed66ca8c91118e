// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/processor/entries.hpp"

#include "frontends/x86/devices/device_access.hpp"
#include "frontends/x86/devices/machine.hpp"
#include "frontends/x86/linux_boot/guest_image.hpp"
#include "frontends/x86/linux_boot/guest_start.hpp"
#include "frontends/x86/paging/guest_memory.hpp"
#include "frontends/x86/paging/shadow/tables.hpp"
#include "frontends/x86/processor/breakpoints.hpp"
#include "frontends/x86/processor/descriptors.hpp"
#include "frontends/x86/processor/exceptions.hpp"
#include "frontends/x86/processor/extended_state.hpp"
#include "frontends/x86/processor/flags.hpp"
#include "frontends/x86/processor/interrupts.hpp"
#include "frontends/x86/processor/processor_start.hpp"
#include "frontends/x86/processor/stolen_time.hpp"
#include "frontends/x86/processor/transfer.hpp"
#include "frontends/x86/processor/usual_return.hpp"
#include "frontends/x86/sites/sites.hpp"
#include "inplace-vmm/backend/events.hpp"
#include "inplace-vmm/backend/page_tables.hpp"
#include "inplace-vmm/backend/processor_state.hpp"
#include "inplace-vmm/backend/sites.hpp"
#include "inplace-vmm/counters.hpp"
#include "inplace-vmm/event_ring.hpp"
#include "inplace-vmm/instruction_counts.hpp"
#include "inplace-vmm/rewriter.hpp"
#include "inplace-vmm/site_list.hpp"
#include "inplace-vmm/stop.hpp"
#include "inplace-vmm/vcpu.hpp"

#include <optional>

namespace previrt {

namespace {

constexpr std::uint64_t dr6_reset = 0xffff0ff0;

// The counter for interrupts delivered from the present entry.
[[gnu::section("processor")]] std::uint64_t* delivery_point = &counters.delivered_at_site;

bool accesses_device(SiteKind kind) {
    return kind == SiteKind::in || kind == SiteKind::out || kind == SiteKind::mmio_read ||
           kind == SiteKind::mmio_write;
}

CalledSite site_at(std::uint64_t address) {
    const CalledSite called = find_called_site(guest_link_address(address));
    if (called.site == nullptr) {
        stop_guest("a call of the VMM from an address without a site:", address);
    }
    return called;
}

bool accesses_port(SiteKind kind) {
    return kind == SiteKind::in || kind == SiteKind::out || kind == SiteKind::ins || kind == SiteKind::outs;
}

Cause cause_of(SiteKind kind, Cause cause) {
    return accesses_port(kind) ? Cause::port_access : cause;
}

void count_site(Cause cause, SiteKind kind) {
    count_entry(cause_of(kind, cause), static_cast<unsigned>(kind));
}

void begin_call(const CalledSite& called) {
    if (*called.row == nullptr) {
        const SiteKind kind = called.site->kind();
        *called.row = &row_of_instruction(called.site->address, cause_of(kind, Cause::site_call),
                                          static_cast<unsigned>(kind));
    }
    begin_entry(**called.row);
    ++(*called.row)->count;
    ++counters.calls[called.site->record.kind];
}

// Between the load of SS and the next instruction there is no #DB.
void step_behind(bool steps, SiteKind kind) {
    const bool loads_stack = kind == SiteKind::mov_to_segment && vcpu.interrupt_shadow;
    if (steps && !loads_stack && !exception_is_raised()) {
        raise_single_step();
    }
}

// `address` differs from the link address while Linux runs at physical addresses.
void execute_known(const KnownSite& site, std::uint64_t address) {
    const Instruction* const instruction = decode_site(site, address);
    if (instruction == nullptr) {
        stop_guest("a site without an instruction, at", address);
    }
    if (!accesses_device(site.kind())) { // otherwise a line on the console would fill the ring
        record_event(Event::site, address, site.record.kind);
    }
    delivery_point = site.kind() == SiteKind::hlt ? &counters.delivered_at_idle : &counters.delivered_at_site;
    const bool steps = vcpu.step_after_site;
    vcpu.step_after_site = false;
    if (steps) {
        vcpu.registers.rflags |= flag_trap; // pushf stores it, popf may clear it
    }
    execute_site(*instruction);
    // After sysret the new TF decides; XSAVE and kin are still to be executed by the guest.
    const bool decides_later = site.kind() == SiteKind::sysret || is_extended_state(site.kind());
    if (!decides_later) {
        step_behind(steps, site.kind());
    }
}

// While a loop of hidden faults goes on, these stay the same: interrupts change none of them.
std::uint64_t progress_of_guest() {
    return counters.system_calls + counters.true_faults + counters.entries_written +
           counters.unannotated_writes;
}

// After a hidden fault the same instruction faults at the same address again: the shadow does not help. Where
// the guest gets further, this is no loop: each child of a program that forks begins with the same fault.
void stop_if_endless(std::uint64_t address) {
    constexpr unsigned most_repeated = 10000;
    struct Fault {
        std::uint64_t address;
        std::uint64_t rip;
        std::uint64_t progress;

        bool operator==(const Fault&) const = default;
    };
    [[gnu::section("processor")]] static Fault last;
    [[gnu::section("processor")]] static unsigned repeated;
    const Fault fault{.address = address, .rip = vcpu.registers.rip, .progress = progress_of_guest()};
    repeated = fault == last ? repeated + 1 : 0;
    last = fault;
    if (repeated > most_repeated) {
        stop_guest("one instruction faults without end, at the address", address);
    }
}

bool is_there(const KnownSite& site, std::uint64_t address, Privilege privilege) {
    std::uint8_t code[longest_site];
    const std::size_t length = site.record.site_length();
    return peek_guest(address, code, length, privilege) == length && is_rewritten(site, {code, length});
}

// User mode may have mapped the pages of a kernel's text, but not the VMM: a rewritten site then faults at
// the VMM's address in it. Executes its instruction for user mode. If the kernel lies in physical memory, a
// program may have code of its own at the kernel's addresses.
bool execute_rewritten_for_user() {
    const std::uint64_t address = vcpu.registers.rip;
    const KnownSite* const site = find_site(address);
    if (site == nullptr || backend::treat_site(*site).way == Way::native ||
        !is_there(*site, address, Privilege::user)) {
        return false;
    }
    vcpu.step_after_site = (vcpu.registers.rflags & flag_trap) != 0;
    vcpu.registers.rflags &= ~std::uint64_t{flag_trap};
    count_site(Cause::trap, site->kind());
    execute_known(*site, address);
    return true;
}

// A rewritten site calls the VMM, and RSP is no stack: that of a processor that starts is in no page table
// for some instructions. The site's own instruction may not use a stack at all.
bool execute_site_without_stack() {
    const std::uint64_t address = vcpu.registers.rip;
    const KnownSite* const site = vcpu.cpl == 0 ? find_site(guest_link_address(address)) : nullptr;
    if (site == nullptr || backend::treat_site(*site).way != Way::call ||
        !is_there(*site, address, Privilege::supervisor)) {
        return false;
    }
    vcpu.step_after_site = (vcpu.registers.rflags & flag_trap) != 0;
    vcpu.registers.rflags &= ~std::uint64_t{flag_trap};
    ++counters.trapped_sites[site->record.kind];
    count_site(Cause::trap, site->kind());
    execute_known(*site, address);
    return true;
}

bool is_push(std::uint64_t address, Access access) {
    constexpr std::uint64_t pushed = sizeof(std::uint64_t);
    return access.write && !access.user && vcpu.registers.general[rsp] - pushed == address;
}

// #DB follows each instruction at whose begin TF is set, also one that the VMM executes. A gate clears TF,
// and sysret decides by the new TF.
bool begins_with_trap_flag() {
    vcpu.interrupt_shadow = false; // it covers this instruction and no further one
    return (vcpu.registers.rflags & flag_trap) != 0;
}

void execute_single(const Instruction& instruction) {
    const bool steps = begins_with_trap_flag() && instruction.kind != SiteKind::int_n &&
                       instruction.kind != SiteKind::sysret;
    execute_site(instruction);
    step_behind(steps, instruction.kind);
}

void page_fault_taken(std::uint64_t address, std::uint32_t error_code) {
    const Access access{.write = (error_code & fault_write) != 0,
                        .user = vcpu.cpl == 3,
                        .fetch = (error_code & fault_fetch) != 0};
    backend::flush_entries();
    const std::uint64_t table_stores = counters.unannotated_writes;
    const ShadowFault fault = shadow_fault(address, access);
    if (fault.verdict == FaultVerdict::hidden) {
        ++counters.hidden_faults;
        count_entry(counters.unannotated_writes == table_stores ? Cause::hidden_fault : Cause::table_store);
        record_event(Event::hidden_fault, address, error_code);
        stop_if_endless(address);
        return;
    }
    if (fault.verdict == FaultVerdict::device) {
        count_entry(Cause::device_access,
                    static_cast<unsigned>(access.write ? SiteKind::mmio_write : SiteKind::mmio_read));
        const bool steps = begins_with_trap_flag();
        execute_device_access(address, access.write);
        step_behind(steps, SiteKind::mmio_read);
        return;
    }
    if (access.user ? execute_rewritten_for_user() : alias_is_wanted(address)) {
        return;
    }
    if (is_push(address, access) && execute_site_without_stack()) {
        return;
    }
    ++counters.true_faults;
    count_entry(Cause::true_fault);
    record_event(Event::true_fault, address, fault.error_code);
    raise_page_fault(address, fault.error_code);
}

// A sensitive instruction that was not rewritten, or a copy of one.
bool execute_trapped(bool kernel) {
    const std::uint64_t address = vcpu.registers.rip;
    std::uint8_t code[longest_instruction];
    const std::size_t got =
        peek_guest(address, code, sizeof(code), kernel ? Privilege::supervisor : Privilege::user);
    const Recognized found = recognize_instruction({code, got});
    if (found.kind == nullptr || is_extended_state(found.kind->kind)) { // these fault only for their operands
        return false;
    }
    auto instruction = decode_instruction(found.kind->kind, address, {code, found.length});
    if (!instruction) {
        return false;
    }
    if (!is_64_bit_code()) {
        if (instruction->operand_is_memory) {
            return false; // it is decoded as that of 64-bit code
        }
        instruction->memory.has_32_bits = true;
    }
    if (kernel) {
        ++counters.trapped_sites[static_cast<std::uint8_t>(found.kind->kind)];
    }
    count_site(Cause::trap, found.kind->kind);
    execute_single(*instruction);
    return true;
}

// The rewriter's trap instruction in a site.
bool execute_trap_instruction() {
    const std::uint64_t address = vcpu.registers.rip;
    const KnownSite* const site = vcpu.cpl == 0 ? find_site(guest_link_address(address)) : nullptr;
    std::uint8_t code = 0;
    if (site == nullptr || peek_guest(address, &code, sizeof(code), Privilege::supervisor) != sizeof(code) ||
        code != trap_instruction) {
        return false;
    }
    vcpu.step_after_site = (vcpu.registers.rflags & flag_trap) != 0;
    vcpu.registers.rflags &= ~std::uint64_t{flag_trap};
    ++counters.trapped_sites[site->record.kind];
    count_site(Cause::trap, site->kind());
    execute_known(*site, address);
    return true;
}

void general_protection_taken(std::uint32_t error_code) {
    constexpr std::uint32_t in_idt = 2;
    if (vcpu.cpl == 3 && follow_global_table()) {
        return; // the guest had loaded a selector whose descriptor is new
    }
    const bool is_software_interrupt = (error_code & in_idt) != 0;
    if (error_code == 0 && execute_trap_instruction()) {
        return;
    }
    if ((error_code == 0 || is_software_interrupt) && execute_trapped(vcpu.cpl == 0)) {
        return;
    }
    raise_exception(general_protection, error_code);
}

void invalid_opcode_taken() {
    std::uint8_t code[trap_mark_bytes];
    const std::uint64_t address = vcpu.registers.rip;
    const bool is_whole =
        vcpu.cpl == 0 && peek_guest(address, code, sizeof(code), Privilege::supervisor) == sizeof(code);
    const std::optional<MarkedSite> marked = is_whole ? read_trap_mark(code) : std::nullopt;
    if (!marked) {
        raise_exception(invalid_opcode);
        return;
    }
    // A copy of a site: pushf and popf in a kprobe's template, a segment register in an alternative.
    Instruction instruction{};
    instruction.kind = marked->kind;
    instruction.address = address;
    instruction.next = address + trap_mark_bytes;
    instruction.width = marked->width;
    instruction.has_operand = marked->has_registers;
    instruction.reg = marked->operand >> 4U;
    instruction.rm = marked->operand & 15U;
    ++counters.trapped_sites[static_cast<std::uint8_t>(marked->kind)];
    count_site(Cause::trap, marked->kind);
    execute_single(instruction);
}

// RIP is behind the instruction. INT3 and INTO have one byte, INT n has two.
std::uint64_t software_interrupt_before(std::uint64_t next, std::uint8_t vector) {
    constexpr std::uint8_t int_n = 0xcd;
    const std::uint8_t one_byte = vector == breakpoint ? 0xcc : 0xce;
    std::uint8_t code[2];
    const Privilege privilege = vcpu.cpl == 3 ? Privilege::user : Privilege::supervisor;
    const bool has_two_bytes =
        peek_guest(next - sizeof(code), code, sizeof(code), privilege) == sizeof(code) && code[0] == int_n &&
        code[1] != one_byte;
    return next - (has_two_bytes ? 2 : 1);
}

void debug_exception_taken() {
    if (vcpu.cpl == 3 && finish_watched_step()) {
        return;
    }
    vcpu.debug[6] |= backend::read_debug_register(6) & 0xe00fU;
    backend::write_debug_register(6, dr6_reset); // the processor never clears bits of it
    if (vcpu.stepping) {
        vcpu.stepping = false;
        vcpu.registers.rflags &= ~std::uint64_t{flag_trap};
        vcpu.interrupt_shadow = false;
        if ((vcpu.debug[6] & 0xfU) == 0) {
            vcpu.debug[6] &= ~debug_single_step;
            return;
        }
        vcpu.debug[6] &= ~debug_single_step;
    }
    raise_exception(debug_exception);
}

// The real CR0 has TS and MP set if the guest's TS, MP or EM should stop some instruction.
void device_not_available_taken() {
    backend::set_task_switched((vcpu.cr0 & (cr0_ts | cr0_em)) != 0);
    std::uint8_t code[longest_instruction];
    const std::size_t got = peek_guest(vcpu.registers.rip, code, sizeof(code),
                                       vcpu.cpl == 3 ? Privilege::user : Privilege::supervisor);
    constexpr std::uint8_t fwait = 0x9b;
    if (got > 0 && code[0] == fwait && (vcpu.cr0 & (cr0_ts | cr0_mp)) != (cr0_ts | cr0_mp)) {
        ++vcpu.registers.rip; // it waits for an x87 error, and the x87 is not used here
        return;
    }
    std::size_t opcode = 0;
    const auto is_prefix = [](std::uint8_t byte) {
        return byte == 0x66 || byte == 0xf2 || byte == 0xf3 || (byte & 0xf0U) == 0x40;
    };
    while (opcode < got && is_prefix(code[opcode])) {
        ++opcode;
    }
    const bool is_x87 = opcode < got && (code[opcode] == fwait || (code[opcode] & 0xf8U) == 0xd8);
    raise_exception((vcpu.cr0 & cr0_em) != 0 && !is_x87 ? invalid_opcode : device_not_available);
}

} // namespace

void begin_entry_here() {
    begin_entry(vcpu.cpl == 3 ? address_of_programs : guest_link_address(vcpu.registers.rip));
}

void site_called(std::uint64_t return_address) {
    CalledSite called = find_called_site(guest_link_address(return_address - call_bytes));
    std::uint64_t address = return_address - call_bytes;
    if (called.site == nullptr) {
        address = return_address - absolute_call_bytes;
        called = site_at(address);
    }
    begin_call(called);
    execute_known(*called.site, address);
}

void site_jumped(std::uint64_t address) {
    const CalledSite called = site_at(address);
    begin_call(called);
    execute_known(*called.site, address);
}

void exception_taken(std::uint8_t vector, std::uint32_t error_code, std::uint64_t fault_address) {
    ++counters.exceptions[vector & 31U];
    begin_entry_here();
    record_event(Event::trap, vcpu.registers.rip, (std::uint64_t{vector} << 32U) | error_code);
    vcpu.instruction = vcpu.registers.rip;
    delivery_point = &counters.delivered_at_site;
    if (vector != debug_exception) {
        end_step();
    }
    switch (vector) {
    case page_fault:
        page_fault_taken(fault_address, error_code);
        break;
    case general_protection:
        general_protection_taken(error_code);
        break;
    case segment_not_present:
    case stack_fault:
        if ((vcpu.cpl == 3 && follow_global_table()) ||
            (vector == stack_fault && error_code == 0 && execute_site_without_stack())) {
            break;
        }
        raise_exception(vector, error_code);
        break;
    case invalid_opcode:
        invalid_opcode_taken();
        break;
    case debug_exception:
        debug_exception_taken();
        break;
    case breakpoint:
    case overflow:
        vcpu.instruction = software_interrupt_before(vcpu.registers.rip, vector);
        deliver_software_interrupt(vector);
        break;
    case device_not_available:
        device_not_available_taken();
        break;
    default:
        raise_exception(vector, error_code);
    }
    if (!entry_is_counted()) {
        count_entry(Cause::exception, vector);
    }
}

void system_call_taken(bool compatibility_mode) {
    begin_entry(address_of_programs);
    count_entry(Cause::system_call);
    end_step();
    record_event(Event::syscall, vcpu.registers.rip, vcpu.registers.general[rax]);
    enter_system_call(vcpu.registers.rip, compatibility_mode);
}

void sysenter_taken() {
    constexpr std::uint64_t instruction_bytes = 2;
    begin_entry(address_of_programs);
    count_entry(Cause::system_call);
    end_step();
    record_event(Event::syscall, vcpu.registers.rip, vcpu.registers.general[rax]);
    vcpu.instruction = vcpu.registers.rip - instruction_bytes;
    enter_by_sysenter();
}

void event_taken() {
    ++counters.events_taken;
    begin_entry_here();
    count_entry(Cause::event);
    delivery_point = &counters.delivered_at_once;
}

namespace {

// An interrupt is due, but the instruction behind sti or mov ss comes first. True: the guest has to execute
// it.
bool hold_for_shadow() {
    const std::uint64_t next = vcpu.registers.rip;
    const KnownSite* const site = find_site(guest_link_address(next));
    if (site != nullptr && is_there(*site, next, Privilege::supervisor)) {
        // A single step would end inside the VMM. Therefore the VMM executes the site, which may be the hlt
        // of sti; hlt.
        vcpu.interrupt_shadow = false;
        execute_known(*site, next);
        return false;
    }
    // If an event came before the step, TF is the VMM's already.
    vcpu.stepping = vcpu.stepping || (vcpu.registers.rflags & flag_trap) == 0;
    vcpu.registers.rflags |= flag_trap;
    vcpu.events_held = true;
    return true;
}

// An interrupt is due where the guest is about to execute hlt. The instruction before was sti, perhaps, and
// has its shadow: an interrupt before hlt would not wake the guest. Behind it is never too late.
bool finish_halt() {
    const std::uint64_t next = vcpu.registers.rip;
    const KnownSite* const site = vcpu.cpl == 0 ? find_site(guest_link_address(next)) : nullptr;
    if (site == nullptr || site->kind() != SiteKind::hlt || !is_there(*site, next, Privilege::supervisor)) {
        return false;
    }
    execute_known(*site, next);
    return true;
}

} // namespace

void prepare_return() {
    end_step();
    vcpu.events_held = false;
    for (;;) {
        if (exception_is_raised()) {
            deliver_raised();
        }
        if (backend::take_events()) {
            take_events();
            show_stolen_time();
        }
        if (reset_is_requested()) {
            reset_processor();
            continue;
        }
        const bool is_nmi = nmi_is_due();
        if (!is_nmi && !interrupt_is_due()) {
            vcpu.interrupt_shadow = false;
            break;
        }
        if (vcpu.interrupt_shadow) {
            if (hold_for_shadow()) {
                break;
            }
            continue;
        }
        if (is_nmi) {
            deliver_due_nmi();
            continue;
        }
        if (finish_halt()) {
            continue;
        }
        const bool is_return = vcpu.cpl == 3 && delivery_point != &counters.delivered_at_once;
        ++*(is_return ? &counters.delivered_at_return : delivery_point);
        deliver_due_interrupt();
    }
    notify_processors();
    if (!vcpu.interrupt_flag && pc.interrupt_requested(vcpu.number)) {
        backend::request_attention();
    }
    if (vcpu.cpl == 3 && stop_at_breakpoint()) {
        deliver_raised();
    }
    if (vcpu.cpl == 3) {
        prepare_step();
        if (some_state_is_lost) {
            say_that_state_is_lost();
        }
        ++counters.user_returns;
        record_event(Event::user_return, vcpu.registers.rip, guest_flags());
        backend::flush_entries();
        // Programs of 32 bits may be threads that share their page tables, each with segments of its own.
        if (vcpu.descriptors_may_differ || vcpu.cs != usual_return.code) {
            vcpu.descriptors_may_differ = false;
            follow_global_table();
        }
    } else if (backend::kernel_faults() == backend::KernelFaults::by_guest_stack) {
        shadow_prepare_stack(vcpu.registers.general[rsp]);
    }
    end_cycles();
}

} // namespace previrt
