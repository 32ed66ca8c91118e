// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/processor/privilege.hpp"

#include "frontends/x86/processor/descriptors.hpp"
#include "inplace-vmm/backend/processor_state.hpp"
#include "inplace-vmm/backend/segment_bases.hpp"
#include "inplace-vmm/vcpu.hpp"

namespace previrt {

// The back-end changes the real GS base with the mode. The guest expects user mode's base on entry, until its
// swapgs. Therefore the bases count as exchanged on entry, and swapgs, with which Linux's entries begin, only
// undoes that. A kernel that reads gs: memory before swapgs would see its own base.
void set_privilege(unsigned level) {
    if (level == vcpu.cpl) {
        return;
    }
    if (level != 0) {
        drop_kernel_segments();
        if (vcpu.gs_exchanged == 0) {
            exchange_gs_bases();
        }
    }
    vcpu.gs_exchanged = 0xff;
    vcpu.cpl = static_cast<std::uint8_t>(level);
}

void exchange_gs_bases() {
    if (vcpu.gs_exchanged == 0) {
        const std::uint64_t active = backend::read_gs_base(false);
        const std::uint64_t inactive = backend::read_gs_base(true);
        backend::write_gs_base(true, active);
        backend::write_gs_base(false, inactive);
    }
    vcpu.gs_exchanged = 0;
}

} // namespace previrt
