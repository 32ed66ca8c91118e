// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>

namespace previrt::backend {

std::uint64_t now(); // nanoseconds, monotonic
// Converts ticks of the time-stamp counter to nanoseconds, rounded up.
std::uint64_t time_of_ticks(std::uint64_t ticks);
std::uint64_t epoch();                             // nanoseconds from 1970-01-01 to now() == 0
std::uint64_t time_stamp_khz();                    // the frequency of the time-stamp counter
void set_timer(std::optional<std::uint64_t> when); // an event comes once now() has reached it, never before

} // namespace previrt::backend
