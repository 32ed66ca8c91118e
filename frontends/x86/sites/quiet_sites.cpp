// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/sites/quiet_sites.hpp"

#include "frontends/x86/instructions/instruction.hpp"
#include "frontends/x86/linux_boot/guest_image.hpp"
#include "frontends/x86/paging/page_entry.hpp"
#include "frontends/x86/paging/shadow/tables.hpp"
#include "frontends/x86/processor/control_registers.hpp"
#include "frontends/x86/sites/site_operands.hpp"
#include "inplace-vmm/backend/processor_state.hpp"
#include "inplace-vmm/backend/segment_bases.hpp"
#include "inplace-vmm/backend/sites.hpp"
#include "inplace-vmm/counters.hpp"
#include "inplace-vmm/instruction_counts.hpp"
#include "inplace-vmm/rewriter.hpp"
#include "inplace-vmm/site_list.hpp"
#include "inplace-vmm/vcpu.hpp"

namespace previrt {

namespace {

// As it was decoded.
struct QuietSite {
    std::uint64_t return_address; // 0: none
    std::uint64_t list;           // of sites: its version then
    std::uint64_t next;           // the address of the next instruction
    InstructionRow* row;          // that counts it
    SiteKind kind;
    std::uint8_t general; // the register that it reads or writes
    std::uint8_t width;
};

constexpr std::size_t kept_count = 16;
[[gnu::section("processor")]] QuietSite kept[kept_count];

bool learn(QuietSite& place, std::uint64_t return_address) {
    const std::uint64_t address = return_address - call_bytes;
    const KnownSite* const site = find_site(guest_link_address(address));
    const Instruction* const instruction = site != nullptr ? decode_site(*site, address) : nullptr;
    if (instruction == nullptr || instruction->operand_is_memory) {
        return false;
    }
    const SiteKind kind = site->kind();
    const bool is_root = kind == SiteKind::mov_to_control && instruction->reg == 3;
    if (!is_root && kind != SiteKind::rdgsbase && kind != SiteKind::wrgsbase) {
        return false;
    }
    place = {.return_address = return_address,
             .list = site_list_version(),
             .next = instruction->next,
             .row = &row_of_instruction(site->address, Cause::site_call, static_cast<unsigned>(kind)),
             .kind = kind,
             .general = static_cast<std::uint8_t>(instruction->rm),
             .width = static_cast<std::uint8_t>(instruction->width)};
    return true;
}

bool load_root(std::uint64_t value) {
    if (!may_load_root(value)) {
        return false;
    }
    load_root_register(value);
    if (backend::kernel_faults() == backend::KernelFaults::by_guest_stack) {
        shadow_prepare_stack(vcpu.registers.general[rsp]);
    }
    return true;
}

// False: it raises an exception.
bool access_base(const QuietSite& site) {
    if ((vcpu.cr4 & cr4_fsgsbase) == 0) {
        return false;
    }
    const bool is_users = vcpu.gs_exchanged != 0;
    if (site.kind == SiteKind::rdgsbase) {
        set_general(site.general, backend::read_gs_base(is_users), site.width);
        return true;
    }
    const std::uint64_t value = vcpu.registers.general[site.general];
    const std::uint64_t base = site.width == 8 ? value : static_cast<std::uint32_t>(value);
    if (!is_canonical(base)) {
        return false;
    }
    backend::write_gs_base(is_users, base);
    return true;
}

} // namespace

bool execute_quiet_site(std::uint64_t return_address) {
    QuietSite& site = kept[(return_address ^ (return_address >> 4U)) % kept_count];
    const bool is_known = site.return_address == return_address && site.list == site_list_version();
    if (!is_known && !learn(site, return_address)) {
        return false;
    }
    begin_entry(*site.row);
    const bool is_done = site.kind == SiteKind::mov_to_control
                             ? load_root(vcpu.registers.general[site.general])
                             : access_base(site);
    if (is_done) {
        ++site.row->count;
        end_cycles();
        ++counters.calls[static_cast<std::uint8_t>(site.kind)];
        vcpu.registers.rip = site.next;
    }
    return is_done;
}

} // namespace previrt
