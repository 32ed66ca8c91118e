// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <chrono>
#include <optional>

namespace previrt {

// Decides when typed input goes to the guest. Input from a file or a program, not from a person, waits for a
// prompt of the guest: a UART that is being set up drops it.
class PromptWait {
public:
    using Clock = std::chrono::steady_clock;

    // The guest printed something.
    void heard(Clock::time_point now) { heard_at_ = now; }
    // The guest has been there since `since`; `at_prompt`: its last output may be a prompt. Once the wait is
    // over, it stays over.
    bool over(Clock::time_point now, Clock::time_point since, bool at_prompt, bool person);

    [[nodiscard]] bool is_over() const { return over_; }

private:
    Clock::time_point heard_at_;
    bool over_ = false;
};

} // namespace previrt
