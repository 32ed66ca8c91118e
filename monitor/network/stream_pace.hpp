// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <chrono>
#include <cstdint>

namespace previrt {

// Whether frames come in a stream. Then they are worth waiting for, as some that move together need one call
// of either side; but who waits for an answer must not wait for us. So it is tried now and then: meanwhile an
// exchange of single frames moves one or two, a stream more.
class StreamPace {
public:
    using Clock = std::chrono::steady_clock;

    static constexpr std::chrono::microseconds wait{200};
    static constexpr std::uint64_t stream = 3; // frames, in a wait
    static constexpr std::uint64_t frames_between_tries = 40;
    static constexpr std::chrono::milliseconds between_tries{10};

    void count_frame() { ++frames_; }
    // Instead of sleeping until something comes.
    bool waits(Clock::time_point now);

private:
    std::uint64_t frames_ = 0; // since the last wait
    bool waits_ = false;
    Clock::time_point next_try_;
};

} // namespace previrt
