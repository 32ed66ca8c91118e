// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/sites/table_sites.hpp"

#include "frontends/x86/instructions/instruction.hpp"
#include "frontends/x86/linux_boot/guest_image.hpp"
#include "frontends/x86/paging/page_table_writes.hpp"
#include "inplace-vmm/counters.hpp"
#include "inplace-vmm/instruction_counts.hpp"
#include "inplace-vmm/rewriter.hpp"
#include "inplace-vmm/site_list.hpp"
#include "inplace-vmm/vcpu.hpp"

namespace previrt {

namespace {

// A site of this kind as it was decoded, if its address is a register and a displacement.
struct TableSite {
    std::uint64_t return_address; // 0: none
    std::uint64_t list;           // of sites: its version then
    std::uint64_t next;           // the address of the next instruction
    std::uint64_t displacement;
    InstructionRow* row; // that counts it
    TableAccess access;  // without its address
    std::uint8_t base;
};

constexpr std::size_t kept_count = 64;
[[gnu::section("processor")]] TableSite kept[kept_count];

bool is_of_tables(SiteKind kind) {
    return kind == SiteKind::page_table_write || kind == SiteKind::page_table_exchange ||
           kind == SiteKind::page_table_compare_exchange || kind == SiteKind::page_table_clear_bit ||
           kind == SiteKind::page_table_test_and_clear_bit;
}

[[gnu::noinline]] bool learn(TableSite& place, std::uint64_t return_address) {
    const std::uint64_t address = return_address - call_bytes;
    const CalledSite called = find_called_site(guest_link_address(address));
    const KnownSite* const site = called.site;
    if (site == nullptr || !is_of_tables(site->kind())) {
        return false;
    }
    if (*called.row == nullptr) {
        *called.row = &row_of_instruction(site->address, Cause::site_call, site->record.kind);
    }
    InstructionRow* const row = *called.row;
    const Instruction* const instruction = decode_site(*site, address);
    if (instruction == nullptr || !instruction->operand_is_memory) {
        return false;
    }
    const MemoryOperand& memory = instruction->memory;
    if (memory != MemoryOperand{.base = memory.base, .displacement = memory.displacement} ||
        memory.base == MemoryOperand::no_register) {
        return false;
    }
    place = {.return_address = return_address,
             .list = site_list_version(),
             .next = instruction->next,
             .displacement = memory.displacement,
             .row = row,
             .access = table_access_of(*instruction),
             .base = memory.base};
    return true;
}

// Counts first: a pointer to the row that lives longer costs a dozen instructions around the work.
[[gnu::always_inline]] inline bool execute(const TableSite& site) {
    count_entry(*site.row);
    TableAccess access = site.access;
    access.address = vcpu.registers.general[site.base] + site.displacement;
    if (!execute_simple_table_access(access)) {
        --instruction_entry.row->count; // the general path counts it
        return false;
    }
    ++counters.calls[static_cast<std::uint8_t>(access.kind)];
    vcpu.registers.rip = site.next;
    return true;
}

[[gnu::noinline, gnu::cold]] bool execute_and_time(const TableSite& site) {
    begin_cycles();
    const bool is_done = execute(site);
    if (is_done) {
        end_cycles();
    }
    return is_done;
}

} // namespace

[[gnu::flatten]] bool execute_table_site(std::uint64_t return_address) {
    TableSite& site = kept[(return_address ^ (return_address >> 6U)) % kept_count];
    const bool is_known = site.return_address == return_address && site.list == site_list_version();
    if (!is_known && !learn(site, return_address)) {
        return false;
    }
    if (cycles_are_wanted) [[unlikely]] {
        return execute_and_time(site);
    }
    return execute(site);
}

} // namespace previrt
