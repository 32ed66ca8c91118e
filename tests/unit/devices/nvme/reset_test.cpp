// SPDX-License-Identifier: BSD-2-Clause
// Resets and shutdowns, with transfers on their way.
#include "tests/unit/devices/nvme/machine.hpp"

#include <gtest/gtest.h>

namespace previrt {
namespace {

using namespace nvme;

class NvmeReset : public testing::Test, protected NvmeMachine {
protected:
    void SetUp() override {
        enable();
        create_pair(1);
    }
    void start_transfers(unsigned count) {
        holds_work = true;
        for (unsigned i = 0; i < count; ++i) {
            Command made = command(i % 2 == 0 ? IoOpcode::read : IoOpcode::write, i);
            made.prp1 = data + (i * page);
            put(1, made);
        }
        ring(1);
        settle();
        ASSERT_EQ(work.size(), count);
    }
    void disable() { set(at::cc, cc_of_drivers & ~cc_en); }
    void request_shutdown() { set(at::cc, cc_of_drivers | (1U << 14U)); }
    static constexpr std::uint32_t processing = csts_rdy | csts_shst_processing;
    static constexpr std::uint32_t complete = csts_rdy | csts_shst_complete;
};

// The driver reuses the memory as soon as the controller is not ready any more.
TEST_F(NvmeReset, EndsWithTheLastTransfer) {
    start_transfers(3);
    disable();
    EXPECT_TRUE(nvme.is_awaited());
    EXPECT_EQ(csts(), csts_rdy);
    EXPECT_TRUE(end(1));
    EXPECT_EQ(csts(), csts_rdy);
    written.clear();
    EXPECT_TRUE(end(1)); // a read: the memory was written, whoever has it now
    EXPECT_EQ(written, std::vector<std::uint64_t>{data + (2 * page)});
    EXPECT_TRUE(end());
    EXPECT_EQ(csts(), 0U);
    EXPECT_FALSE(nvme.is_awaited());
    EXPECT_FALSE(look(1));
    EXPECT_FALSE(nvme.interrupt_line());
    holds_work = false;
    enable();
    create_pair(1);
    EXPECT_EQ(write(0, 1, data).status, 0);
}

TEST_F(NvmeReset, TellsTheNextDriverNothing) {
    put(0, command(AdminOpcode::asynchronous_event_request));
    ring(0);
    start_transfers(4);
    set(doorbell(9, false), 0); // an event, which is told at once
    set(doorbell(1, false), 99);
    settle();
    disable();
    set_admin_queues();
    set(at::cc, cc_of_drivers); // without waiting
    EXPECT_EQ(csts(), csts_rdy);
    put(0, command(AdminOpcode::get_features, 7));
    ring(0); // is lost
    settle();
    EXPECT_FALSE(look(0));
    while (!work.empty()) {
        EXPECT_TRUE(end());
    }
    EXPECT_EQ(csts(), csts_rdy);
    EXPECT_FALSE(look(0));
    EXPECT_FALSE(nvme.interrupt_line());
    ring(0);
    settle();
    EXPECT_TRUE(take(0));
    EXPECT_FALSE(take(0));
    EXPECT_EQ(nvme.submission[1].size, 0);
}

TEST_F(NvmeReset, TwiceInARow) {
    start_transfers(2);
    disable();
    set(at::cc, cc_of_drivers);
    disable();
    EXPECT_TRUE(end());
    EXPECT_EQ(csts(), csts_rdy);
    EXPECT_TRUE(end());
    EXPECT_EQ(csts(), 0U);
    settle();
    EXPECT_EQ(csts(), 0U);
}

TEST_F(NvmeReset, DropsDiscardsAndDeletions) {
    room = 1;
    start_transfers(1);
    for (std::uint64_t i = 0; i < 2; ++i) {
        ram.store(data + 4 + (16 * i), std::uint32_t{8});
    }
    Command trim = command(IoOpcode::dataset_management);
    trim.words[0] = 1;
    trim.words[1] = 4;
    trim.prp1 = data;
    put(1, trim);
    ring(1);
    put(0, command(AdminOpcode::delete_submission_queue, 1));
    ring(0);
    settle();
    EXPECT_EQ(work.size(), 1U);
    disable();
    EXPECT_TRUE(end());
    EXPECT_EQ(csts(), 0U);
    EXPECT_EQ(nvme.slots.waiting, 0U);
    EXPECT_EQ(nvme.slots.used, (std::array<std::uint64_t, 2>{}));
    room = 1000;
    holds_work = false;
    enable();
    create_pair(1);
    EXPECT_EQ(read(0, 1, data).status, 0);
}

TEST_F(NvmeReset, AfterAFatalErrorTransfersStillEnd) {
    start_transfers(2);
    nvme.completion[1].base = ram_bytes; // as if the driver had given it so
    EXPECT_TRUE(end());
    EXPECT_EQ(csts(), csts_rdy | csts_cfs);
    EXPECT_TRUE(end());
    EXPECT_EQ(nvme.transfers(), 0U);
    disable();
    EXPECT_EQ(csts(), 0U);
    holds_work = false;
    enable();
    create_pair(1);
    EXPECT_EQ(read(0, 1, data).status, 0);
}

TEST_F(NvmeReset, AShutdownFlushesWhatWasWritten) {
    EXPECT_EQ(write(0, 1, data).status, 0);
    holds_work = true;
    done.clear();
    request_shutdown();
    EXPECT_EQ(csts(), processing);
    settle();
    ASSERT_EQ(work.size(), 1U);
    EXPECT_EQ(work[0].transfer.operation, Operation::flush);
    EXPECT_EQ(csts(), processing);
    EXPECT_TRUE(end());
    EXPECT_EQ(csts(), complete);
    put(1, command(IoOpcode::write_zeroes)); // too late
    ring(1);
    settle();
    EXPECT_TRUE(work.empty());
    EXPECT_FALSE(look(1));
    disable();
    EXPECT_EQ(csts(), 0U);
}

TEST_F(NvmeReset, AShutdownWithoutWritesIsComplete) {
    EXPECT_EQ(write(0, 1, data).status, 0);
    EXPECT_EQ(run(1, command(IoOpcode::flush)).status, 0);
    EXPECT_EQ(read(0, 1, data).status, 0);
    done.clear();
    request_shutdown();
    settle();
    EXPECT_EQ(csts(), complete);
    EXPECT_TRUE(done.empty());
}

TEST_F(NvmeReset, AFlushCoversOnlyWhatEndedBeforeIt) {
    holds_work = true;
    put(1, command(IoOpcode::flush));
    put(1, command(IoOpcode::write_zeroes));
    ring(1);
    settle();
    EXPECT_TRUE(end(1)); // the write
    EXPECT_TRUE(end());
    request_shutdown();
    settle();
    EXPECT_EQ(csts(), processing);
    EXPECT_EQ(work.size(), 1U);
}

TEST_F(NvmeReset, AShutdownWaitsForTransfers) {
    start_transfers(2);
    request_shutdown();
    settle();
    EXPECT_EQ(csts(), processing);
    EXPECT_EQ(work.size(), 2U);
    EXPECT_TRUE(end());
    EXPECT_TRUE(end());
    settle();
    EXPECT_EQ(work.size(), 1U); // the flush
    disable();                  // a driver that waits no longer
    EXPECT_EQ(csts(), csts_rdy);
    EXPECT_TRUE(end());
    EXPECT_EQ(csts(), 0U);
}

TEST_F(NvmeReset, ADisabledControllerIsShutDown) {
    disable();
    set(at::cc, 1U << 14U);
    EXPECT_EQ(csts(), csts_shst_complete);
    enable();
    EXPECT_EQ(csts(), csts_rdy);
}

} // namespace
} // namespace previrt
