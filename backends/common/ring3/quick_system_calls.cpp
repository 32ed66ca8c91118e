// SPDX-License-Identifier: BSD-2-Clause
#include "backends/common/ring3/quick_system_calls.hpp"

#include "frontends/x86/processor/breakpoints.hpp"
#include "inplace-vmm/vcpu.hpp"

namespace previrt {

bool system_calls_may_be_quick() {
    constexpr std::uint64_t selectors = 0x00230010; // of STAR: 0x33 and 0x2b; 0x10 and 0x18
    constexpr std::uint64_t cleared =
        (native_flags & ~flag_resume) | flag_interrupt | flag_iopl | native_user_flags;
    return (vcpu.efer & efer_sce) != 0 && vcpu.star >> 32U == selectors &&
           (vcpu.syscall_mask & cleared) == cleared && !vcpu.descriptors_may_differ &&
           !breakpoints_are_enabled();
}

} // namespace previrt
