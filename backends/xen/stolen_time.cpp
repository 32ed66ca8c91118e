// SPDX-License-Identifier: BSD-2-Clause
#include "backends/xen/hypercall.hpp"
#include "backends/xen/interface.hpp"
#include "inplace-vmm/backend/processor_state.hpp"
#include "inplace-vmm/vcpu.hpp"

namespace previrt::backend {

// RUNSTATE_offline is neither blocked nor runnable: the domain is paused, or its scheduler's share is used
// up.
std::optional<std::uint64_t> stolen_time() {
    vcpu_runstate_info info{};
    xen::must_succeed(__HYPERVISOR_vcpu_op, "get_runstate_info", VCPUOP_get_runstate_info, vcpu.number,
                      xen::address_of(&info));
    return info.time[RUNSTATE_runnable] + info.time[RUNSTATE_offline];
}

} // namespace previrt::backend
