// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/process/bounds/watch_rules.hpp"

namespace previrt {

namespace {

using namespace std::chrono_literals;

constexpr std::chrono::nanoseconds busy_wait = 100ms;
// A look takes this machine some 50 us: it must not be noticeable for a hundred sleeping guests.
constexpr std::chrono::nanoseconds idle_wait = 4s;
constexpr int busy_from = 100; // a 100th of the time
constexpr std::chrono::nanoseconds shortest_window = 250ms;

} // namespace

Verdict WatchRules::judge(const Look& look) {
    if (last_) {
        is_busy_ = (look.processor_time - last_->processor_time) * busy_from > look.time - last_->time;
    }
    last_ = look;
    const bool several = ran_several(look);
    if (look.page_tables > bounds_.page_tables) {
        return Verdict::too_much_memory;
    }
    return several ? Verdict::several_at_once : Verdict::within_bounds;
}

std::chrono::nanoseconds WatchRules::wait() const {
    return is_busy_ ? busy_wait : idle_wait;
}

// The process that is being left and the one that is being entered may both run for a moment, and so may all
// that the monitor rings: this allows half a processor for that.
bool WatchRules::ran_several(const Look& look) {
    if (!window_) {
        window_ = look;
    }
    const std::chrono::nanoseconds passed = look.time - window_->time;
    if (passed < shortest_window) {
        return false;
    }
    const std::chrono::nanoseconds used = look.processor_time - window_->processor_time;
    window_ = look;
    return used > (passed * bounds_.processors) + (passed * bounds_.changing / 2);
}

} // namespace previrt
