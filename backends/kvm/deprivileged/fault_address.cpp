// SPDX-License-Identifier: BSD-2-Clause
#include "backends/kvm/deprivileged/fault_address.hpp"

#include "backends/kvm/deprivileged/domain.hpp"
#include "backends/kvm/deprivileged/segments.hpp"
#include "backends/kvm/deprivileged/stale_entries.hpp"
#include "frontends/x86/instructions/faulting_access.hpp"
#include "frontends/x86/instructions/instruction.hpp"
#include "frontends/x86/paging/page_entry.hpp"
#include "inplace-vmm/backend/page_tables.hpp"
#include "inplace-vmm/counters.hpp"
#include "inplace-vmm/vcpu.hpp"

#include <algorithm>
#include <optional>
#include <span>

namespace previrt::kvm {

extern "C" {
extern std::uint64_t trap_cs;
extern std::uint8_t trap_in_user_root;
}

namespace {

backend::TableNumber current_root() {
    return trap_in_user_root != 0 ? loaded_user_root() : loaded_root();
}

// By the tables as they are now.
struct Translation {
    bool is_certain; // the processor had no other
    bool present;
    bool writable;
    bool executable;
    std::uint64_t frame;

    // Whether it raises a page fault with this code.
    [[nodiscard]] bool refuses(std::uint32_t error_code) const {
        if (!present) {
            return (error_code & fault_present) == 0;
        }
        const bool refuses_kind =
            (error_code & fault_fetch) != 0 ? !executable : (error_code & fault_write) != 0 && !writable;
        return (error_code & fault_present) != 0 && refuses_kind;
    }
};

Translation translate(backend::TableNumber root, std::uint64_t address) {
    Translation found{.is_certain = false, .present = true, .writable = true, .executable = true, .frame = 0};
    backend::TableNumber table = root;
    for (unsigned level = root_level; table != no_table; --level) {
        const unsigned index = table_index(address, level);
        const std::uint64_t entry = backend::table_entries(table)[index];
        found.present = (entry & page_present) != 0;
        found.writable = found.writable && (entry & page_writable) != 0;
        found.executable = found.executable && (entry & page_no_execute) == 0;
        if (level == 1 || !found.present) {
            found.is_certain = is_unchanged(table, index);
            found.frame = machine_frame_in(entry);
            return found;
        }
        table = backend::table_at(machine_frame_in(entry));
    }
    return found; // the VMM's own
}

// What the processor has executed. The guest's page may have other bytes, as one with rewritten system calls
// does. They end with the page.
std::span<const std::uint8_t> executed_code(const Translation& translation) {
    const std::uint64_t offset = vcpu.registers.rip & (page_size - 1);
    return {pointer_to(translation.frame << page_shift) + offset,
            std::min<std::uint64_t>(longest_instruction, page_size - offset)};
}

std::optional<std::uint64_t> known_fault_address(std::uint32_t error_code) {
    const backend::TableNumber root = current_root();
    const std::uint64_t here = vcpu.registers.rip;
    const Translation code = translate(root, here);
    if (!code.is_certain || !is_long_code(static_cast<std::uint16_t>(trap_cs))) {
        return std::nullopt;
    }
    constexpr std::uint32_t known_bits = fault_present | fault_write | fault_user | fault_fetch;
    if ((error_code & fault_fetch) != 0) { // if its first page allows it, its second page does not: in doubt
        const bool is_known = (error_code & ~known_bits) == 0 && code.refuses(error_code);
        return is_known ? std::optional(here) : std::nullopt;
    }
    if (!code.present) {
        return std::nullopt;
    }
    const std::optional<std::uint64_t> address = faulting_access(executed_code(code), error_code);
    // If not, the instruction has changed meanwhile, or the processor had a translation from before.
    return address && translate(root, *address).refuses(error_code) ? address : std::nullopt;
}

} // namespace

std::uint64_t find_fault_address(std::uint32_t error_code) {
    if (const std::optional<std::uint64_t> address = known_fault_address(error_code)) {
        return *address;
    }
    ++counters.hypercalls[call_read_fault_address];
    return call_level_0(level_0_read_fault_address, 0);
}

} // namespace previrt::kvm
