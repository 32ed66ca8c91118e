// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/kvm/privileged/devices.hpp"

#include <algorithm>
#include <atomic>

namespace previrt {

using namespace kvm_privileged;

namespace {

// The sum saturates at never: a guest can give any time.
std::uint64_t time_after(std::uint64_t time, std::uint64_t nanoseconds) {
    return time + std::min(nanoseconds, never - time);
}

} // namespace

VmmDevices::VmmDevices(Mailbox& mailbox, monitored::ConsoleRing& input) : mailbox_(mailbox), input_(input) {}

// The mailbox is the guest's memory: the vector in it is one of the guest's own, or none.
void VmmDevices::look(std::uint64_t now) {
    cause_ = Cause::none;
    if (mailbox_.delivered != Cause::none) {
        return;
    }
    const auto propose = [&](Cause cause, std::uint32_t vector) {
        if (cause_ == Cause::none && vector < no_vector) {
            cause_ = cause;
            vector_ = static_cast<std::uint8_t>(vector);
        }
    };
    propose(Cause::request, mailbox_.request_vector);
    if (mailbox_.deadline <= now) {
        propose(Cause::deadline, mailbox_.deadline_vector);
    }
    if (std::atomic_ref(input_.produced).load(std::memory_order_acquire) !=
        std::atomic_ref(input_.consumed).load(std::memory_order_relaxed)) {
        propose(Cause::input, mailbox_.input_vector);
    }
}

bool VmmDevices::interrupt_requested() const {
    return cause_ != Cause::none;
}

std::uint8_t VmmDevices::acknowledge() {
    if (cause_ == Cause::deadline) {
        period_ = mailbox_.deadline - std::min(last_deadline_, mailbox_.deadline);
        last_deadline_ = mailbox_.deadline;
    }
    mailbox_.delivered = cause_;
    cause_ = Cause::none;
    return vector_;
}

// The VMM predicts the next deadline only if it comes before this. After a tick it is that of the expected
// next tick. A guest that goes to sleep exits anyway.
std::uint64_t VmmDevices::deadline(std::uint64_t now) const {
    constexpr std::uint64_t shortest_period = 1'000'000;
    if (mailbox_.delivered != Cause::none) {
        return std::max(time_after(last_deadline_, period_), time_after(now, shortest_period));
    }
    return mailbox_.deadline > now ? mailbox_.deadline : never;
}

} // namespace previrt
