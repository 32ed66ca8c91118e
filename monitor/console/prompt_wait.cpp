// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/console/prompt_wait.hpp"

namespace previrt {

namespace {

using namespace std::chrono_literals;

constexpr auto prompt_is_silent_for = 200ms;
constexpr auto longest_wait_for_prompt = 15s;

} // namespace

bool PromptWait::over(Clock::time_point now, Clock::time_point since, bool in_a_line, bool person) {
    over_ = over_ || person || (in_a_line && now - heard_at_ > prompt_is_silent_for) ||
            now - since > longest_wait_for_prompt;
    return over_;
}

} // namespace previrt
