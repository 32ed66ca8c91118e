// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/console/prompt_wait.hpp"

#include <algorithm>

namespace previrt {

namespace {

using namespace std::chrono_literals;

constexpr auto prompt_is_silent_for = 200ms;
// A program that reads without a prompt gets its input behind these. A guest that still starts, on a busy
// machine, prints something within the first.
constexpr auto longest_silence = 15s;
constexpr auto longest_wait = 120s;

} // namespace

bool PromptWait::over(Clock::time_point now, Clock::time_point since, bool at_prompt, bool person) {
    over_ = over_ || person || (at_prompt && now - heard_at_ > prompt_is_silent_for) ||
            now - std::max(since, heard_at_) > longest_silence || now - since > longest_wait;
    return over_;
}

} // namespace previrt
