// SPDX-License-Identifier: BSD-2-Clause
#include "backends/common/ring3/user_call_sites.hpp"

#include "backends/common/ring3/displaced_instructions.hpp"
#include "frontends/x86/processor/entries.hpp"
#include "frontends/x86/processor/flags.hpp"
#include "inplace-vmm/vcpu.hpp"

namespace previrt {

void step_through_user_call(bool (*is_user_call)(std::uint64_t address)) {
    const bool is_step = (vcpu.registers.rflags & flag_trap) != 0 && !vcpu.stepping;
    if (vcpu.cpl == 3 && is_step && is_user_call(vcpu.registers.rip)) {
        vcpu.registers.rip += system_call_bytes;
        system_call_taken(false);
        prepare_return();
    }
}

} // namespace previrt
