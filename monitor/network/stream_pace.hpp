// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <chrono>
#include <cstdint>

namespace previrt {

// Detects a stream of frames. During a stream the relay waits a little, because several frames that move
// together need one doorbell; but an exchange of question and answer must not wait. So the relay tries a wait
// now and then: during one, an exchange of single frames moves one or two, a stream more.
class StreamPace {
public:
    using Clock = std::chrono::steady_clock;

    static constexpr std::chrono::microseconds wait{200};
    static constexpr std::uint64_t stream = 3; // frames in one wait
    static constexpr std::uint64_t frames_between_tries = 40;
    static constexpr std::chrono::milliseconds between_tries{10};

    void count_frame() { ++frames_; }
    // Whether to wait instead of sleeping until a doorbell.
    bool waits(Clock::time_point now);

private:
    std::uint64_t frames_ = 0; // since the last wait
    bool waits_ = false;
    Clock::time_point next_try_;
};

} // namespace previrt
