// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt::monitored {

// The clock, as the monitor read it at the start.
struct ClockStart {
    std::uint64_t time_stamp_khz;
    std::uint64_t epoch_nanoseconds; // the time at epoch_time_stamp
    std::uint64_t epoch_time_stamp;
};

void start_clock(const ClockStart& start);

} // namespace previrt::monitored
