// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/process/bounds/guest_bounds.hpp"

#include <chrono>
#include <cstdint>
#include <optional>

namespace previrt {

// What is seen of a guest's processes at a time.
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

// Judges a guest by one look after the other.
class WatchRules {
public:
    explicit WatchRules(const GuestBounds& bounds) : bounds_(bounds) {}

    Verdict judge(const Look& look);
    // When to look again, where nothing says earlier that the guest has used so much of a processor.
    [[nodiscard]] std::chrono::nanoseconds wait() const;

private:
    bool ran_several(const Look& look);

    GuestBounds bounds_;
    std::optional<Look> last_;
    bool is_busy_ = true;
    std::optional<Look> window_; // since this look processor time is counted
};

} // namespace previrt
