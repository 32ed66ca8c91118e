// SPDX-License-Identifier: BSD-2-Clause
#include "backends/common/ring3/trampolines.hpp"

#include "backends/common/ring3/machine_code.hpp"
#include "inplace-vmm/backend/sites.hpp"
#include "inplace-vmm/rewriter.hpp"
#include "inplace-vmm/vcpu.hpp"

namespace previrt {

extern "C" std::uint64_t jump_rax;
extern "C" std::uint64_t jump_rcx;

namespace {

constexpr std::uint32_t save_rax_at = 0x25048948; // movq %rax, abs32
constexpr unsigned save_rax_bytes = 8;
constexpr unsigned restore_rcx_bytes = 8;

// Saves RAX, loads the trampoline's number into it, and jumps to the entry.
void put_jump_to_vmm(std::uint8_t* to, std::uint64_t runs_at, std::size_t number, std::uint64_t target) {
    constexpr unsigned load_bytes = 5;
    to = put(put(to, save_rax_at, 4), reinterpret_cast<std::uint64_t>(&jump_rax), 4);
    to = put(put(to, 0xb8, 1), number, 4); // movl $number, %eax
    put_jump(to, runs_at + save_rax_bytes + load_bytes, target);
}

constexpr std::uint32_t not_byte_at = 0x2514f6;        // notb abs32
constexpr std::uint32_t save_rcx_at = 0x250c8948;      // movq %rcx, abs32
constexpr std::uint32_t restore_rcx_at = 0x250c8b48;   // movq abs32, %rcx
constexpr std::uint32_t load_byte_to_ecx = 0x250cb60f; // movzbl abs32, %ecx
constexpr std::uint8_t jump_if_rcx_is_zero = 0xe3;

// Whether only sites lead to the next swapgs: `swapgs; rdgsbase; swapgs` accesses the inactive base.
bool is_taken_back_at_once(const KnownSite& site) {
    for (const KnownSite* next = find_site(site.end()); next != nullptr; next = find_site(next->end())) {
        if (next->kind() == SiteKind::swapgs) {
            return true;
        }
    }
    return false;
}

// Whether user mode follows before the kernel could use GS. The entries and exits of every kernel look so:
// swapgs, perhaps a jump, iret or sysret.
bool leads_to_user_mode(const KnownSite& site) {
    constexpr std::uint64_t nearby = 160;
    constexpr unsigned sites_ahead = 3;
    const std::span<const KnownSite> sites = known_sites();
    const KnownSite* const end = sites.data() + sites.size();
    const KnownSite* next = find_site(site.address);
    for (unsigned i = 0; i < sites_ahead && next != nullptr; ++i) {
        ++next;
        if (next == end) {
            return false;
        }
        if (next->address - site.address > nearby) {
            return false;
        }
        if (next->kind() == SiteKind::iret || next->kind() == SiteKind::sysret) {
            return true;
        }
    }
    return false;
}

} // namespace

namespace {

bool only_notes(const KnownSite& site) {
    return leads_to_user_mode(site) || is_taken_back_at_once(site);
}

// On the exit to user mode only the note changes: the back-end exchanges the bases with the mode. On entry
// the note is undone. In other cases the VMM exchanges the bases. No flag may change, and jrcxz reads none.
//
//     Leads to user mode:      0 notb      7 jmp back
//     Otherwise:               0 save rcx  8 load the note  16 jrcxz 38
//                             18 notb     25 restore rcx    33 jmp back
//                             38 restore rcx                46 as every trampoline
constexpr std::uint64_t swapgs_is_noted = 25;
constexpr std::uint64_t swapgs_general = 46;

void put_swapgs(const KnownSite& site, std::size_t number, std::uint64_t address,
                std::span<std::uint8_t> code, std::uint64_t target) {
    const auto exchanged = reinterpret_cast<std::uint64_t>(&vcpu.gs_exchanged);
    const auto rcx_place = reinterpret_cast<std::uint64_t>(&jump_rcx);
    std::uint8_t* to = code.data();
    const auto here = [&] { return address + static_cast<std::uint64_t>(to - code.data()); };
    if (only_notes(site)) {
        to = put(put(to, not_byte_at, 3), exchanged, 4);
        put_jump(to, here(), site.end());
        return;
    }
    to = put(put(to, save_rcx_at, 4), rcx_place, 4);
    to = put(put(to, load_byte_to_ecx, 4), exchanged, 4);
    constexpr std::uint8_t to_general_part = 20;
    to = put(put(to, jump_if_rcx_is_zero, 1), to_general_part, 1);
    to = put(put(to, not_byte_at, 3), exchanged, 4);
    to = put(put(to, restore_rcx_at, 4), rcx_place, 4);
    to = put_jump(to, here(), site.end());
    to = put(put(to, restore_rcx_at, 4), rcx_place, 4);
    put_jump_to_vmm(to, here(), number, target);
}

} // namespace

std::uint64_t undo_trampoline(const KnownSite& site, std::uint64_t offset) {
    auto& general = vcpu.registers.general;
    std::uint64_t vmm_part = 0;
    if (site.kind() == SiteKind::swapgs) {
        if (only_notes(site)) {
            return offset == 0 ? site.address : site.end();
        }
        if (offset > 0 && offset < swapgs_general) {
            general[rcx] = jump_rcx;
            const bool noted = offset >= swapgs_is_noted && offset < swapgs_general - restore_rcx_bytes;
            return noted ? site.end() : site.address;
        }
        vmm_part = swapgs_general;
    }
    if (offset >= vmm_part + save_rax_bytes) {
        general[rax] = jump_rax;
    }
    return site.address;
}

void backend::write_trampoline(const KnownSite& site, std::size_t number, std::uint64_t address,
                               std::span<std::uint8_t> code, std::uint64_t target) {
    if (site.kind() == SiteKind::swapgs) {
        put_swapgs(site, number, address, code, target);
    } else {
        put_jump_to_vmm(code.data(), address, number, target);
    }
}

} // namespace previrt
