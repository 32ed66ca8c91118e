// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/network/stream_pace.hpp"

namespace previrt {

bool StreamPace::waits(Clock::time_point now) {
    if (waits_) {
        waits_ = frames_ >= stream;
        next_try_ = now + between_tries;
    } else if (frames_ >= frames_between_tries && now >= next_try_) {
        waits_ = true;
    } else {
        return false;
    }
    frames_ = 0;
    return waits_;
}

} // namespace previrt
