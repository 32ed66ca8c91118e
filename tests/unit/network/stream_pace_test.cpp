// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/network/stream_pace.hpp"

#include <gtest/gtest.h>

namespace previrt {

namespace {

class Pace : public testing::Test {
protected:
    bool waits_after(std::uint64_t frames) {
        for (std::uint64_t i = 0; i < frames; ++i) {
            pace_.count_frame();
        }
        now_ += StreamPace::wait;
        return pace_.waits(now_);
    }

    StreamPace pace_;
    StreamPace::Clock::time_point now_{std::chrono::seconds(1)};
};

TEST_F(Pace, WaitsWhileAStreamComes) {
    EXPECT_FALSE(waits_after(StreamPace::frames_between_tries - 1));
    EXPECT_TRUE(waits_after(1));
    for (int i = 0; i < 100; ++i) {
        EXPECT_TRUE(waits_after(StreamPace::stream));
    }
    EXPECT_FALSE(waits_after(StreamPace::stream - 1));
    EXPECT_FALSE(waits_after(0));
}

TEST_F(Pace, AnExchangeWaitsOnceInAWhile) {
    const auto begin = now_;
    unsigned waits = 0;
    for (int i = 0; i < 1000; ++i) {
        waits += waits_after(2) ? 1 : 0;
    }
    EXPECT_GT(waits, 0U);
    EXPECT_LE(waits, (now_ - begin) / StreamPace::between_tries);
}

TEST_F(Pace, FewFramesNeverWait) {
    for (int i = 0; i < 39; ++i) {
        EXPECT_FALSE(waits_after(1));
    }
}

} // namespace

} // namespace previrt
