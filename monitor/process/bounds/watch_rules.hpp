// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/process/bounds/guest_bounds.hpp"

#include <chrono>
#include <cstdint>
#include <optional>

namespace previrt {

// The state of a guest's processes at one time.
struct Look {
    std::chrono::nanoseconds time;           // of a clock that only goes forward
    std::chrono::nanoseconds processor_time; // of all of them since their start
    std::uint64_t page_tables;               // bytes
};

enum class Verdict : std::uint8_t {
    within_bounds,
    too_much_memory,
    several_at_once, // more processes run than the guest has processors
};

// Judges a guest by successive looks.
class WatchRules {
public:
    explicit WatchRules(const GuestBounds& bounds) : bounds_(bounds) {}

    Verdict judge(const Look& look);
    // The time to the next look, unless the guest uses enough of a processor before.
    [[nodiscard]] std::chrono::nanoseconds wait() const;

private:
    bool ran_several(const Look& look);

    GuestBounds bounds_;
    std::optional<Look> last_;
    bool is_busy_ = true;
    std::optional<Look> window_; // processor time is counted since this look
};

} // namespace previrt
