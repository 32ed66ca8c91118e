// SPDX-License-Identifier: BSD-2-Clause
#include "backends/common/contract/disk_ring.hpp"

#include "tests/unit/disk/random.hpp"

#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <vector>

namespace previrt::monitored {

namespace {

using backend::DiskCompletion;
using backend::DiskOperation;
using backend::DiskPiece;
using backend::DiskResult;

class DiskRings : public testing::Test {
protected:
    std::unique_ptr<DiskRequestRing> request_ring_ = std::make_unique<DiskRequestRing>();
    std::unique_ptr<DiskCompletionRing> completion_ring_ = std::make_unique<DiskCompletionRing>();
    DiskRequests vmm_{*request_ring_, *completion_ring_};
    DiskCompletions monitor_{*request_ring_, *completion_ring_};
    TakenDiskRequest taken_{};
    RandomNumbers random_;

    bool submit(std::uint64_t token, std::span<const DiskPiece> pieces = {}) {
        return vmm_.submit({.token = token,
                            .operation = DiskOperation::write,
                            .is_durable = token % 2 != 0,
                            .offset = 512 * token,
                            .bytes = token,
                            .pieces = pieces});
    }
    template <typename Ring>
    void lie(Ring& ring) {
        if (random_() % 3 == 0) {
            ring.counters.produced += random_() % 4 == 0 ? random_() : (random_() % 4096) & ~15U;
        }
        if (random_() % 3 == 0) {
            ring.counters.consumed += random_() % 4 == 0 ? random_() : (random_() % 4096) & ~15U;
        }
        const std::uint32_t words[] = {
            random_(), 0, ~std::uint32_t{0}, Ring::longest, Ring::longest + 1, random_() % 5000};
        std::memcpy(&ring.bytes[(random_() % sizeof(ring.bytes)) & ~15U], &words[random_() % 6], 4);
    }
};

TEST_F(DiskRings, RequestsAndCompletionsComeAsTheyWent) {
    std::vector<DiskPiece> pieces;
    for (std::uint64_t count = 0; count <= backend::most_request_pieces; ++count) {
        ASSERT_TRUE(submit(count, pieces));
        ASSERT_TRUE(monitor_.take(taken_));
        EXPECT_EQ(taken_.record.token, count);
        EXPECT_EQ(taken_.record.operation, static_cast<std::uint8_t>(DiskOperation::write));
        EXPECT_EQ(taken_.record.is_durable, count % 2);
        EXPECT_EQ(taken_.record.offset, 512 * count);
        EXPECT_EQ(taken_.record.bytes, count);
        ASSERT_EQ(taken_.piece_count, count);
        for (std::size_t i = 0; i < count; ++i) {
            ASSERT_EQ(taken_.pieces.at(i).address, pieces[i].address);
            ASSERT_EQ(taken_.pieces.at(i).bytes, pieces[i].bytes);
        }
        EXPECT_FALSE(monitor_.take(taken_));
        ASSERT_TRUE(monitor_.complete({.token = count, .result = DiskResult::no_space}));
        const auto completion = vmm_.next_completion();
        ASSERT_TRUE(completion);
        EXPECT_EQ(completion->token, count);
        EXPECT_EQ(completion->result, DiskResult::no_space);
        EXPECT_FALSE(vmm_.next_completion());
        pieces.push_back({.address = random_(), .bytes = random_()});
    }
    EXPECT_FALSE(submit(1, pieces)); // one piece too many
}

TEST_F(DiskRings, AFullRingTakesNoneAndCallsWhenThereIsRoom) {
    std::uint64_t submitted = 0;
    while (submit(submitted)) {
        ++submitted;
    }
    EXPECT_GT(submitted, 1000U);
    EXPECT_FALSE(monitor_.must_call()); // nothing was taken
    for (std::uint64_t token = 0; token < submitted; ++token) {
        ASSERT_TRUE(monitor_.take(taken_));
        ASSERT_EQ(taken_.record.token, token);
    }
    EXPECT_TRUE(monitor_.must_call());
    EXPECT_FALSE(monitor_.must_call());
    EXPECT_TRUE(submit(submitted));

    std::uint64_t completed = 0;
    while (monitor_.complete({.token = completed, .result = DiskResult::done})) {
        ++completed;
    }
    EXPECT_TRUE(monitor_.wait_for_room());
    for (std::uint64_t token = 0; token < completed; ++token) {
        ASSERT_EQ(vmm_.next_completion()->token, token);
    }
    EXPECT_TRUE(vmm_.must_call());
    EXPECT_FALSE(monitor_.wait_for_room());
}

TEST_F(DiskRings, WhoWaitsIsCalledOnce) {
    EXPECT_TRUE(monitor_.wait_for_request());
    EXPECT_TRUE(submit(1));
    EXPECT_TRUE(submit(2));
    EXPECT_TRUE(vmm_.must_call());
    EXPECT_TRUE(submit(3));
    EXPECT_FALSE(vmm_.must_call());
    EXPECT_FALSE(monitor_.wait_for_request()); // some have come
    EXPECT_FALSE(vmm_.next_completion());      // asks
    EXPECT_TRUE(monitor_.complete({.token = 1, .result = DiskResult::done}));
    EXPECT_TRUE(monitor_.must_call());
    EXPECT_FALSE(monitor_.must_call());
}

// The VMM may call later than it submits.
TEST_F(DiskRings, WhoSeesRequestsByItselfIsNotCalledForThemLater) {
    EXPECT_TRUE(monitor_.wait_for_request());
    EXPECT_FALSE(vmm_.monitor_waits()); // for nothing
    EXPECT_TRUE(submit(1));
    EXPECT_TRUE(vmm_.monitor_waits());
    EXPECT_TRUE(vmm_.monitor_waits());
    EXPECT_TRUE(vmm_.must_call());
    EXPECT_FALSE(vmm_.monitor_waits());
    EXPECT_TRUE(submit(2));
    EXPECT_FALSE(vmm_.monitor_waits()); // it is awake
    EXPECT_TRUE(monitor_.take(taken_));
    EXPECT_TRUE(monitor_.take(taken_));
    EXPECT_TRUE(monitor_.wait_for_request());
    EXPECT_FALSE(vmm_.monitor_waits());
    EXPECT_FALSE(vmm_.must_call());
    EXPECT_TRUE(submit(3));
    EXPECT_TRUE(vmm_.monitor_waits());
}

TEST_F(DiskRings, AVmmThatLiesIsReadWithinTheRing) {
    for (int i = 0; i < 200000; ++i) {
        lie(*request_ring_);
        if (monitor_.take(taken_)) {
            ASSERT_LE(taken_.piece_count, backend::most_request_pieces);
        }
        lie(*completion_ring_);
        (void)monitor_.complete({.token = 7, .result = DiskResult::done});
    }
}

TEST_F(DiskRings, AMonitorThatLiesIsReadWithinTheRing) {
    const std::vector<DiskPiece> pieces(backend::most_request_pieces);
    for (int i = 0; i < 200000; ++i) {
        lie(*completion_ring_);
        if (const auto completion = vmm_.next_completion()) {
            ASSERT_LE(static_cast<unsigned>(completion->result), static_cast<unsigned>(DiskResult::refused));
        }
        lie(*request_ring_);
        (void)submit(1, std::span(pieces).first(random_() % (pieces.size() + 1)));
    }
}

TEST_F(DiskRings, ARecordOfAnotherSizeIsDropped) {
    RecordWriter<DiskRequestRing> writer(*request_ring_);
    for (const std::uint32_t bytes : {1U, 31U, 33U, 47U, 49U, DiskRequestRing::longest - 1}) {
        ASSERT_GE(writer.reserve(bytes).size(), bytes);
        writer.commit({.bytes = bytes, .attributes = {}});
    }
    EXPECT_FALSE(monitor_.take(taken_));
    RecordWriter<DiskCompletionRing> completions(*completion_ring_);
    for (const std::uint32_t bytes : {1U, 15U}) {
        ASSERT_GE(completions.reserve(bytes).size(), bytes);
        completions.commit({.bytes = bytes, .attributes = {}});
    }
    const DiskCompletionRecord unknown{.token = 1, .result = 200, .reserved = {}};
    std::memcpy(completions.reserve(sizeof unknown).data(), &unknown, sizeof unknown);
    completions.commit({.bytes = sizeof unknown, .attributes = {}});
    EXPECT_FALSE(vmm_.next_completion());
}

} // namespace

} // namespace previrt::monitored
