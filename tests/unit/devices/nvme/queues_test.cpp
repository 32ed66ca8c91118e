// SPDX-License-Identifier: BSD-2-Clause
// Queues for I/O: made, used round and round, and deleted.
#include "tests/unit/devices/nvme/machine.hpp"

#include <gtest/gtest.h>

namespace previrt {
namespace {

using namespace nvme;

class NvmeQueues : public testing::Test, protected NvmeMachine {
protected:
    void SetUp() override { enable(); }

    Result create(AdminOpcode opcode, std::uint32_t cdw10, std::uint32_t cdw11, std::uint64_t address) {
        Command made = command(opcode, cdw10, cdw11);
        made.prp1 = address;
        return run(0, made);
    }
    Result create_completion(std::uint32_t cdw10, std::uint32_t cdw11 = 3,
                             std::uint64_t address = 0x40'0000) {
        return create(AdminOpcode::create_completion_queue, cdw10, cdw11, address);
    }
    Result create_submission(std::uint32_t cdw10, std::uint32_t cdw11, std::uint64_t address = 0x40'0000) {
        return create(AdminOpcode::create_submission_queue, cdw10, cdw11, address);
    }
    Result remove_completion(std::uint32_t queue) {
        return run(0, command(AdminOpcode::delete_completion_queue, queue));
    }
    Result remove_submission(std::uint32_t queue) {
        return run(0, command(AdminOpcode::delete_submission_queue, queue));
    }
};

TEST_F(NvmeQueues, AreCheckedWhenTheyAreMade) {
    constexpr std::uint32_t of_8 = 7U << 16U;
    EXPECT_EQ(create_completion(0 | of_8).code(), Status::invalid_queue_identifier);
    EXPECT_EQ(create_completion(17 | of_8).code(), Status::invalid_queue_identifier);
    EXPECT_EQ(create_completion(0xffff | of_8).code(), Status::invalid_queue_identifier);
    EXPECT_EQ(create_completion(1).code(), Status::invalid_queue_size);
    EXPECT_EQ(create_completion(1 | (1024U << 16U)).code(), Status::invalid_queue_size);
    EXPECT_EQ(create_completion(1 | of_8, 2).code(), Status::invalid_field); // not contiguous
    EXPECT_EQ(create_completion(1 | of_8, 3, 0x40'0010).code(), Status::prp_offset_invalid);
    EXPECT_EQ(create_completion(1 | of_8, 3 | (1U << 16U)).code(), Status::invalid_interrupt_vector);
    EXPECT_EQ(create_completion(1 | (1023U << 16U)).status, 0);
    EXPECT_EQ(create_completion(1 | of_8).code(), Status::invalid_queue_identifier); // there is one
    EXPECT_EQ(create_completion(16 | of_8).status, 0);

    EXPECT_EQ(create_submission(1 | of_8, 1 | (2U << 16U)).code(), Status::completion_queue_invalid);
    EXPECT_EQ(create_submission(1 | of_8, 1).code(), Status::completion_queue_invalid); // the admin's
    EXPECT_EQ(create_submission(1 | of_8, 1 | (99U << 16U)).code(), Status::completion_queue_invalid);
    EXPECT_EQ(create_submission(0 | of_8, 1 | (1U << 16U)).code(), Status::invalid_queue_identifier);
    EXPECT_EQ(create_submission(17 | of_8, 1 | (1U << 16U)).code(), Status::invalid_queue_identifier);
    EXPECT_EQ(create_submission(1, 1 | (1U << 16U)).code(), Status::invalid_queue_size);
    EXPECT_EQ(create_submission(1 | of_8, 0 | (1U << 16U)).code(), Status::invalid_field);
    EXPECT_EQ(create_submission(1 | of_8, 1 | (1U << 16U), 0x800).code(), Status::prp_offset_invalid);
    EXPECT_EQ(create_submission(1 | of_8, 1 | (1U << 16U)).status, 0);
    EXPECT_EQ(create_submission(2 | of_8, 1 | (1U << 16U)).status, 0); // they may share
}

TEST_F(NvmeQueues, WantTheSizesOfEntries) {
    set(at::cc, 0);
    set_admin_queues();
    set(at::cc, 1);
    EXPECT_EQ(create_completion(1 | (7U << 16U)).code(), Status::invalid_queue_size);
    set(at::cc, cc_of_drivers); // may follow
    EXPECT_EQ(create_completion(1 | (7U << 16U)).status, 0);
}

TEST_F(NvmeQueues, AreDeletedInOrder) {
    EXPECT_EQ(remove_completion(1).code(), Status::invalid_queue_identifier);
    EXPECT_EQ(remove_submission(1).code(), Status::invalid_queue_identifier);
    EXPECT_EQ(remove_completion(0).code(), Status::invalid_queue_identifier);
    EXPECT_EQ(remove_submission(0).code(), Status::invalid_queue_identifier);
    create_pair(1);
    EXPECT_EQ(remove_completion(1).code(), Status::invalid_queue_deletion);
    EXPECT_EQ(remove_submission(1).status, 0);
    EXPECT_EQ(remove_submission(1).code(), Status::invalid_queue_identifier);
    EXPECT_EQ(remove_completion(1).status, 0);
    create_pair(1);
    EXPECT_EQ(write(0, 1, data).status, 0);
}

TEST_F(NvmeQueues, DeletionWaitsForTheirCommands) {
    create_pair(1);
    holds_work = true;
    Command made = command(IoOpcode::read);
    give_memory(made, data, 512);
    const std::uint16_t first = put(1, made);
    put(1, made);
    ring(1);
    serve();
    ASSERT_EQ(work.size(), 2U);
    const std::uint16_t untaken = put(1, made); // without a doorbell
    put(0, command(AdminOpcode::delete_submission_queue, 1));
    ring(0);
    settle();
    EXPECT_FALSE(look(0));
    ring(1); // nothing is taken any more
    settle();
    EXPECT_EQ(work.size(), 2U);
    put(0, command(AdminOpcode::delete_submission_queue, 1)); // once more
    ring(0);
    settle();
    EXPECT_EQ(result_of(*take(0)).code(), Status::invalid_queue_identifier);
    EXPECT_TRUE(end());
    settle();
    EXPECT_FALSE(look(0));
    EXPECT_EQ(take(1)->identifier_and_status & 0xffffU, first);
    EXPECT_TRUE(end());
    settle();
    EXPECT_EQ(result_of(*take(0)).status, 0);
    EXPECT_TRUE(take(1));
    EXPECT_FALSE(take(1));
    EXPECT_NE(untaken, first);
    EXPECT_EQ(remove_completion(1).status, 0);
}

TEST_F(NvmeQueues, GoRoundManyTimes) {
    create_pair(1, 3);
    create_pair(2, 1024);
    for (unsigned i = 0; i < 50; ++i) {
        fill(data, 512, static_cast<std::uint8_t>(i));
        EXPECT_EQ(write(i, 1, data).status, 0);
        EXPECT_EQ(read(i, 1, data + page).status, 0);
        EXPECT_TRUE(holds(data + page, 512, static_cast<std::uint8_t>(i)));
    }
    for (unsigned i = 0; i < 3000; ++i) {
        ASSERT_EQ(run(2, command(IoOpcode::write_zeroes, i)).status, 0);
    }
}

// A completion never has to wait: commands do, in their queue.
TEST_F(NvmeQueues, CommandsWaitForRoomOfTheirCompletions) {
    ASSERT_EQ(create_completion(1 | (3U << 16U), 3, place_of(1, 64).completion).status, 0); // 3 fit
    ASSERT_EQ(create_submission_queue(1, 64, 1).status, 0);
    pairs[1] = place_of(1, 64);
    for (unsigned i = 0; i < 10; ++i) {
        put(1, command(IoOpcode::write_zeroes, i));
    }
    ring(1);
    holds_work = true;
    settle();
    EXPECT_EQ(work.size(), 3U);
    while (!work.empty()) {
        EXPECT_TRUE(end());
    }
    settle();
    EXPECT_TRUE(work.empty());
    pairs[1].entries = 4; // to take completions
    unsigned taken = 0;
    holds_work = false;
    while (take(1)) {
        ++taken;
        settle();
    }
    EXPECT_EQ(taken, 10U);
}

TEST_F(NvmeQueues, EachGetsItsTurn) {
    create_pair(1);
    create_pair(2);
    for (unsigned i = 0; i < 8; ++i) {
        put(1, command(IoOpcode::write_zeroes, i));
        put(2, command(IoOpcode::write_zeroes, 100 + i));
    }
    ring(1);
    ring(2);
    holds_work = true;
    settle();
    ASSERT_EQ(work.size(), 16U);
    for (std::size_t i = 0; i < work.size(); ++i) {
        EXPECT_EQ(work[i].transfer.offset >= 100 * std::uint64_t{512}, i % 2 == 1);
    }
}

TEST_F(NvmeQueues, FullOnesDoNotStopTheAdmin) {
    create_pair(1, 1024);
    for (unsigned i = 0; i < 1000; ++i) {
        put(1, command(IoOpcode::write_zeroes, i));
    }
    ring(1);
    holds_work = true;
    settle();
    EXPECT_EQ(work.size(), Slots::count);
    EXPECT_EQ(run(0, command(AdminOpcode::get_features, 7)).status, 0);
    holds_work = false;
    settle();
    unsigned taken = 0;
    while (take(1)) {
        ++taken;
    }
    EXPECT_EQ(taken, 1000U);
}

TEST_F(NvmeQueues, ImpossibleDoorbellsChangeNothing) {
    create_pair(1, 8);
    put(1, command(IoOpcode::write_zeroes));
    for (const std::uint32_t value : {8U, 9U, 0xffffU, 0x1'0001U, 0xffff'ffffU}) {
        set(doorbell(1, false), value);
        set(doorbell(1, true), value);
    }
    set(doorbell(1, true), 1); // there is no completion to take
    settle();
    EXPECT_FALSE(look(1));
    ring(1);
    settle();
    EXPECT_TRUE(take(1));
    // Seven fit: an eighth would make the queue look empty.
    for (unsigned i = 0; i < 7; ++i) {
        put(1, command(IoOpcode::write_zeroes, i));
    }
    holds_work = true;
    nvme.slots.used = {~std::uint64_t{0}, ~std::uint64_t{0}}; // none is taken
    ring(1);
    set(doorbell(1, false), (pairs[1].tail + 1U) % 8);
    settle();
    EXPECT_EQ(nvme.submission[1].used(), 7);
}

TEST_F(NvmeQueues, WithoutInterruptsRaiseNone) {
    ASSERT_EQ(create_completion(1 | (63U << 16U), 1, place_of(1, 64).completion).status, 0);
    ASSERT_EQ(create_submission_queue(1, 64, 1).status, 0);
    pairs[1] = place_of(1, 64);
    put(1, command(IoOpcode::write_zeroes));
    ring(1);
    settle();
    EXPECT_FALSE(nvme.interrupt_line());
    EXPECT_TRUE(take(1));
}

} // namespace
} // namespace previrt
