// SPDX-License-Identifier: BSD-2-Clause
// Time from the time-stamp counter. The timer is the monitor's: it looks for the deadline whenever it runs.
#include "backends/kvm-privileged/domain.hpp"
#include "inplace-vmm/backend.hpp"
#include "inplace-vmm/processor.hpp"

namespace previrt::kvm_privileged {

namespace {

std::uint64_t nanoseconds_per_tick; // in 2^-32: more than 32 bits below 1 GHz

} // namespace

void start_events() {
    constexpr std::uint64_t scale = std::uint64_t{1} << 32U;
    nanoseconds_per_tick = scale * 1'000'000 / handover.time_stamp_khz;
    mailbox.deadline = never;
    mailbox.output_deadline = never;
}

} // namespace previrt::kvm_privileged

namespace previrt::backend {

using namespace kvm_privileged;

std::uint64_t now() {
    return processor::multiply_and_shift_32(processor::read_time_stamp() - handover.epoch_time_stamp,
                                            nanoseconds_per_tick);
}

std::uint64_t epoch_seconds() {
    return handover.epoch_nanoseconds / 1'000'000'000;
}

void set_timer(std::optional<std::uint64_t> when) {
    mailbox.deadline = when.value_or(never);
}

} // namespace previrt::backend
