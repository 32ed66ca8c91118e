// SPDX-License-Identifier: BSD-2-Clause
// Time from the time-stamp counter.
#include "backends/common/monitor_link/clock.hpp"

#include "inplace-vmm/backend/time.hpp"
#include "inplace-vmm/processor.hpp"

namespace previrt::monitored {

namespace {

std::uint64_t nanoseconds_per_tick; // in units of 2^-32: more than 32 bits below 1 GHz
std::uint64_t epoch_time_stamp;
std::uint64_t epoch_nanoseconds;
std::uint64_t time_stamp_khz;

} // namespace

void start_clock(const ClockStart& start) {
    constexpr std::uint64_t scale = std::uint64_t{1} << 32U;
    nanoseconds_per_tick = scale * 1'000'000 / start.time_stamp_khz;
    epoch_time_stamp = start.epoch_time_stamp;
    epoch_nanoseconds = start.epoch_nanoseconds;
    time_stamp_khz = start.time_stamp_khz;
}

} // namespace previrt::monitored

namespace previrt::backend {

using namespace monitored;

std::uint64_t now() {
    return processor::multiply_and_shift_32(processor::read_time_stamp() - epoch_time_stamp,
                                            nanoseconds_per_tick);
}

std::uint64_t time_of_ticks(std::uint64_t ticks) {
    constexpr std::uint64_t many = std::uint64_t{1} << 60U; // years
    return processor::multiply_and_shift_32(ticks < many ? ticks : many, nanoseconds_per_tick) + 1;
}

std::uint64_t epoch() {
    return epoch_nanoseconds;
}

std::uint64_t time_stamp_khz() {
    return monitored::time_stamp_khz;
}

} // namespace previrt::backend
