// SPDX-License-Identifier: BSD-2-Clause
#include "backends/common/ring3/user_call_sites.hpp"

#include "frontends/x86/processor/entries.hpp"
#include "frontends/x86/processor/flags.hpp"
#include "inplace-vmm/vcpu.hpp"

#include <algorithm>
#include <cstring>

namespace previrt {

void UserCallSite::give_up(std::uint8_t* page, const std::uint8_t* original) {
    is_given_up = true;
    std::memcpy(page + offset, original + offset, user_call_bytes);
}

bool has_site(std::span<const UserCallSite> sites, unsigned copy, unsigned offset) {
    return std::ranges::any_of(sites, [&](const UserCallSite& site) {
        return site.is_taken() && site.copy == copy && site.offset == offset;
    });
}

unsigned free_number(std::span<const UserCallSite> sites, const DisplacedInstructions& displaced,
                     std::uint64_t slots) {
    unsigned number = 0;
    while (number < sites.size() &&
           (sites[number].is_taken() || !displaced.can_use_slot(slot_address(slots, number)))) {
        ++number;
    }
    return number;
}

void step_through_user_call(bool (*is_user_call)(std::uint64_t address)) {
    const bool is_step = (vcpu.registers.rflags & flag_trap) != 0 && !vcpu.stepping;
    if (vcpu.cpl == 3 && is_step && is_user_call(vcpu.registers.rip)) {
        vcpu.registers.rip += system_call_bytes;
        system_call_taken(false);
        prepare_return();
    }
}

} // namespace previrt
