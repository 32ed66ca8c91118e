// SPDX-License-Identifier: BSD-2-Clause
// Time from the time-stamp counter, as the monitor has read it at the start.
#include "backends/kvm/clock.hpp"

#include "backends/kvm/domain.hpp"
#include "inplace-vmm/backend.hpp"
#include "inplace-vmm/processor.hpp"

namespace previrt::kvm {

namespace {

std::uint64_t nanoseconds_per_tick; // in 2^-32: more than 32 bits below 1 GHz

} // namespace

void start_clock() {
    constexpr std::uint64_t scale = std::uint64_t{1} << 32U;
    nanoseconds_per_tick = scale * 1'000'000 / handover.time_stamp_khz;
}

} // namespace previrt::kvm

namespace previrt::backend {

using namespace kvm;

std::uint64_t now() {
    return processor::multiply_and_shift_32(processor::read_time_stamp() - handover.epoch_time_stamp,
                                            nanoseconds_per_tick);
}

std::uint64_t epoch_seconds() {
    return handover.epoch_nanoseconds / 1'000'000'000;
}

} // namespace previrt::backend
