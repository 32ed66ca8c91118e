// SPDX-License-Identifier: BSD-2-Clause
// The monitor has the timer: it checks the deadline whenever it runs.
#include "backends/kvm/privileged/domain.hpp"
#include "inplace-vmm/backend/time.hpp"

namespace previrt::kvm_privileged {

void start_events() {
    monitored::start_clock(handover.clock);
    mailbox.deadline = never;
    mailbox.output_deadline = never;
}

} // namespace previrt::kvm_privileged

namespace previrt::backend {

using namespace kvm_privileged;

void set_timer(std::optional<std::uint64_t> when) {
    mailbox.deadline = when.value_or(never);
}

} // namespace previrt::backend
