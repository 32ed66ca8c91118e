// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/paging/page_table_writes.hpp"

#include "frontends/x86/paging/guest_memory.hpp"
#include "frontends/x86/paging/shadow/tables.hpp"
#include "inplace-vmm/backend/page_tables.hpp"
#include "inplace-vmm/backend/processors.hpp"
#include "inplace-vmm/event_ring.hpp"
#include "inplace-vmm/stop.hpp"
#include "inplace-vmm/vcpu.hpp"

#include <optional>
#include <utility>

namespace previrt {

namespace {

void set_flag(std::uint64_t flag, bool set) {
    vcpu.registers.rflags = (vcpu.registers.rflags & ~flag) | (set ? flag : 0);
}

// The entry after the access, whose other effects are done here.
std::uint64_t apply(const TableAccess& access, std::uint64_t old) {
    std::uint64_t& operand = vcpu.registers.general[access.reg];
    switch (access.kind) {
    case SiteKind::page_table_write:
        return operand;
    case SiteKind::page_table_exchange:
        return std::exchange(operand, old);
    case SiteKind::page_table_compare_exchange: {
        std::uint64_t& accumulator = vcpu.registers.general[rax];
        const bool equal = accumulator == old;
        set_flag(flag_zero, equal);
        if (equal) {
            return operand;
        }
        accumulator = old;
        return old;
    }
    default: {
        const std::uint64_t bit = std::uint64_t{1} << (access.bit & 63U);
        set_flag(flag_carry, (old & bit) != 0);
        return old & ~bit;
    }
    }
}

// nullptr: it is no RAM.
std::uint64_t* entry_at(std::uint64_t physical) {
    return reinterpret_cast<std::uint64_t*>(physical_memory(physical, sizeof(std::uint64_t)));
}

// Another processor may store to a table that has no shadow, without the VMM.
bool store_if_unchanged(std::uint64_t* place, std::uint64_t old, std::uint64_t entry) {
    if (backend::processor_count() == 1) {
        *place = entry;
        return true;
    }
    return __atomic_compare_exchange_n(place, &old, entry, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED);
}

// The entry after the access. nullopt: it stays the same.
std::optional<std::uint64_t> access_entry(const TableAccess& access, std::uint64_t* place,
                                          std::uint64_t physical) {
    const std::uint64_t operand = vcpu.registers.general[access.reg];
    for (;;) {
        const std::uint64_t old = __atomic_load_n(place, __ATOMIC_RELAXED);
        const std::uint64_t entry = apply(access, old);
        if (entry == old) {
            return std::nullopt;
        }
        if (store_if_unchanged(place, old, entry)) {
            if ((old & page_present) != 0) {
                forget_translations_through(physical);
            }
            record_event(Event::table_write, physical, entry);
            return entry;
        }
        vcpu.registers.general[access.reg] = operand;
    }
}

} // namespace

TableAccess table_access_of(const Instruction& instruction) {
    return {.kind = instruction.kind,
            .reg = static_cast<std::uint8_t>(instruction.reg),
            .bit = static_cast<std::uint8_t>(instruction.immediate & 63U),
            .level = instruction.annotation,
            .address = instruction.effective};
}

bool execute_simple_table_access(const TableAccess& access) {
    if ((access.address & 7U) != 0 || access.level > 2) {
        return false;
    }
    const KnownTableEntry known = known_table_entry(access.address);
    const std::optional<OnlyShadow> shadow =
        known.entry != nullptr ? shadow_at_most_users(known.physical) : std::nullopt;
    if (!shadow) {
        return false;
    }
    if (const std::optional<std::uint64_t> entry = access_entry(access, known.entry, known.physical)) {
        shadow_leaf_written(*shadow, known.physical, *entry);
    }
    return true;
}

void execute_page_table_access(const Instruction& instruction) {
    if (!instruction.operand_is_memory || (instruction.effective & 7U) != 0) {
        stop_guest("a page-table entry that is not aligned, at", instruction.effective);
    }
    const TableAccess access = table_access_of(instruction);
    if (execute_simple_table_access(access)) {
        return;
    }
    const std::optional<std::uint64_t> physical = find_table_entry(instruction.effective);
    if (!physical) {
        return;
    }
    std::uint64_t* const place = entry_at(*physical);
    if (place == nullptr) {
        stop_guest("a page table lies outside RAM, at", *physical);
    }
    const std::optional<std::uint64_t> entry = access_entry(access, place, *physical);
    if (!entry) {
        return;
    }
    shadow_entry_written(*physical, *entry, instruction.annotation);
    // The kernel may use a new mapping at once as its stack, where no fault can be taken.
    if ((*entry & page_present) != 0 && (*entry & page_user) == 0) {
        backend::flush_entries();
    }
}

} // namespace previrt
