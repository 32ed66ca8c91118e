// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/paging/page_table_writes.hpp"

#include "frontends/x86/paging/guest_memory.hpp"
#include "frontends/x86/paging/shadow/tables.hpp"
#include "inplace-vmm/backend/page_tables.hpp"
#include "inplace-vmm/event_ring.hpp"
#include "inplace-vmm/stop.hpp"
#include "inplace-vmm/vcpu.hpp"

namespace previrt {

namespace {

void set_flag(std::uint64_t flag, bool set) {
    vcpu.registers.rflags = (vcpu.registers.rflags & ~flag) | (set ? flag : 0);
}

} // namespace

void execute_page_table_access(const Instruction& instruction) {
    if (!instruction.operand_is_memory || (instruction.effective & 7U) != 0) {
        stop_guest("a page-table entry that is not aligned, at", instruction.effective);
    }
    const std::optional<std::uint64_t> physical = find_table_entry(instruction.effective);
    if (!physical) {
        return;
    }
    auto* const place = reinterpret_cast<std::uint64_t*>(physical_memory(*physical, sizeof(std::uint64_t)));
    if (place == nullptr) {
        stop_guest("a page table lies outside RAM, at", *physical);
    }
    const std::uint64_t old = *place;
    std::uint64_t entry = old;
    std::uint64_t& operand = vcpu.registers.general[instruction.reg];
    switch (instruction.kind) {
    case SiteKind::page_table_write:
        entry = operand;
        break;
    case SiteKind::page_table_exchange:
        entry = operand;
        operand = old;
        break;
    case SiteKind::page_table_compare_exchange: {
        std::uint64_t& accumulator = vcpu.registers.general[rax];
        const bool equal = accumulator == old;
        set_flag(flag_zero, equal);
        if (equal) {
            entry = operand;
        } else {
            accumulator = old;
        }
        break;
    }
    default: {
        const std::uint64_t bit = std::uint64_t{1} << (instruction.immediate & 63U);
        set_flag(flag_carry, (old & bit) != 0);
        entry = old & ~bit;
    }
    }
    if (entry == old) {
        return;
    }
    if ((old & page_present) != 0) {
        forget_translations_through(*physical);
    }
    *place = entry;
    record_event(Event::table_write, *physical, entry);
    shadow_entry_written(*physical, entry, instruction.annotation);
    // The kernel may use a new mapping at once as its stack, where no fault can be taken.
    if ((entry & page_present) != 0 && (entry & page_user) == 0) {
        backend::flush_entries();
    }
}

} // namespace previrt
