// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/common/monitor_link/clock.hpp"

namespace previrt {

struct ClockReading {
    std::uint64_t time_stamp;
    std::uint64_t nanoseconds;
};

// The time-stamp counter, measured against the host's clock.
class ProcessClock {
public:
    ProcessClock(); // begins to measure
    // Waits if this began less than 10 ms ago.
    [[nodiscard]] monitored::ClockStart read() const;

private:
    ClockReading first_;
};

} // namespace previrt
