// SPDX-License-Identifier: BSD-2-Clause
#include "tests/unit/vmm/guest_view.hpp"

#include "inplace-vmm/backend/memory.hpp"
#include "inplace-vmm/vcpu.hpp"

#include <sstream>

namespace previrt {

void enter_long_mode(bool write_protect) {
    vcpu.cr0 = cr0_pe | cr0_pg | (write_protect ? std::uint64_t{cr0_wp} : 0);
    vcpu.cr4 = cr4_pae;
    vcpu.efer = efer_lme | efer_lma | efer_nxe;
}

std::uint64_t& guest_entry(std::uint64_t physical) {
    return *reinterpret_cast<std::uint64_t*>(backend::guest_ram() + physical);
}

GuestView guest_view(std::uint64_t address, Access access) {
    return guest_view_from(vcpu.cr3, address, access);
}

GuestView guest_view_from(std::uint64_t root, std::uint64_t address, Access access) {
    GuestView view{};
    const bool no_execute_enabled = (vcpu.efer & efer_nxe) != 0;
    view.error_code =
        (access.write ? 2U : 0U) | (access.user ? 4U : 0U) | (access.fetch && no_execute_enabled ? 16U : 0U);
    view.accessed = true;
    bool writable = true;
    bool user = true;
    bool executable = true;
    std::uint64_t table = root & 0xfffffff000;
    for (unsigned level = 4;; --level) {
        const unsigned shift = 3 + (9 * level);
        const std::uint64_t place = table + (((address >> shift) & 511U) * 8);
        const std::uint64_t entry = guest_entry(place);
        if ((entry & 1U) == 0) {
            return view;
        }
        const bool large = level > 1 && (entry & 0x80U) != 0;
        const bool reserved = ((entry >> 40U) & 0xfffU) != 0 || (large && level > 2) ||
                              (large && (entry & 0x1fe000U) != 0) ||
                              (!no_execute_enabled && (entry >> 63U) != 0);
        if (reserved) {
            view.error_code |= 9;
            return view;
        }
        view.places.at(view.used_count++) = place;
        writable = writable && (entry & 2U) != 0;
        user = user && (entry & 4U) != 0;
        executable = executable && (entry >> 63U) == 0;
        view.accessed = view.accessed && (entry & 0x20U) != 0;
        view.dirty = (entry & 0x40U) != 0;
        table = entry & 0xfffffff000;
        if (level == 1 || large) {
            const std::uint64_t offset = (std::uint64_t{1} << shift) - 1;
            view.physical = (table & ~offset) | (address & offset);
            break;
        }
    }
    const bool supervisor_writes_anywhere = !access.user && (vcpu.cr0 & cr0_wp) == 0;
    view.allowed = (user || !access.user) && (writable || !access.write || supervisor_writes_anywhere) &&
                   (executable || !access.fetch);
    view.error_code |= view.allowed ? 0U : 1U;
    return view;
}

testing::AssertionResult agrees(const GuestView& view, const ShadowFault& fault) {
    const bool is_guests = fault.verdict == FaultVerdict::guest;
    if (is_guests == view.allowed) {
        return testing::AssertionFailure()
               << "the guest's tables " << (view.allowed ? "allow" : "forbid") << " it, and the guest gets "
               << (is_guests ? "a" : "no") << " fault";
    }
    if (is_guests && fault.error_code != view.error_code) {
        return testing::AssertionFailure()
               << "error code " << fault.error_code << " in place of " << view.error_code;
    }
    return testing::AssertionSuccess();
}

std::string text_of(std::uint64_t address, Access access) {
    std::ostringstream text;
    text << std::hex << address << (access.write ? " write" : " read") << (access.user ? " user" : " kernel")
         << (access.fetch ? " fetch" : "");
    return text.str();
}

} // namespace previrt
