// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

namespace previrt {

// Asks all processors of a guest for their activity. Each answers when it leaves KVM_RUN, for which the one
// who asks sends it a signal.
class ProcessorSurvey {
public:
    enum class Activity : std::uint8_t {
        none,            // no answer yet
        executes,        // the guest, or sleeps until an interrupt
        waits_for_start, // INIT or a start message (SIPI)
        has_halted,      // with interrupts disabled
    };

    explicit ProcessorSurvey(unsigned processors) : answers_(processors) {}

    // Answers before this one count no more.
    void begin() {
        for (std::atomic<Activity>& answer : answers_) {
            answer = Activity::none;
        }
    }
    [[nodiscard]] bool asks(unsigned processor) const { return answers_[processor] == Activity::none; }
    void answer(unsigned processor, Activity activity) {
        answers_[processor] = activity;
        answers_[processor].notify_all();
    }
    // Waits for it.
    [[nodiscard]] Activity answer_of(unsigned processor) const {
        answers_[processor].wait(Activity::none);
        return answers_[processor];
    }
    // Whether all have answered, and the guest does nothing any more.
    [[nodiscard]] bool all_have_halted() const {
        return std::ranges::all_of(answers_, [](const std::atomic<Activity>& answer) {
            const Activity activity = answer;
            return activity == Activity::has_halted || activity == Activity::waits_for_start;
        });
    }

private:
    std::vector<std::atomic<Activity>> answers_;
};

} // namespace previrt
