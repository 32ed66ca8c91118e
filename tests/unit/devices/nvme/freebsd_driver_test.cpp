// SPDX-License-Identifier: BSD-2-Clause
// The controller as FreeBSD's nvme(4) goes about it: two resets, the upper half of CAP first, queues made
// with the completion queue's number in the other's, INTMS around the handler, requests for events as many as
// there can be.
#include "tests/unit/devices/nvme/machine.hpp"

#include <cstring>
#include <gtest/gtest.h>

namespace previrt {
namespace {

using namespace nvme;

class NvmeAsFreeBsd : public testing::Test, protected NvmeMachine {
protected:
    static constexpr std::uint16_t admin_depth = 128;
    static constexpr std::uint16_t depth = 256;

    void SetUp() override {
        const std::uint32_t cap_hi = get(at::cap + 4);
        ASSERT_EQ(cap_hi & 0xfU, 0U);
        const std::uint32_t cap_lo = get(at::cap);
        ASSERT_GE(cap_lo & 0xffffU, depth - 1U);
        reset();
        reset();
        set_queues();
        start();
    }

    void disable() {
        if ((get(at::cc) & cc_en) != 0) {
            ASSERT_EQ(csts() & csts_rdy, csts_rdy);
            set(at::cc, get(at::cc) & ~cc_en);
        }
        ASSERT_EQ(csts() & csts_rdy, 0U);
    }
    void enable_controller() {
        ASSERT_EQ(csts() & csts_rdy, 0U);
        pairs[0] = place_of(0, admin_depth);
        std::memset(ram.at(pairs[0].completion, 0x1000), 0, 0x1000);
        set_pair(at::asq, pairs[0].submission);
        set_pair(at::acq, pairs[0].completion);
        set(at::aqa, ((admin_depth - 1U) << 16U) | (admin_depth - 1U));
        set(at::cc, 0x0046'0001);
        ASSERT_EQ(csts(), csts_rdy);
    }
    void reset() {
        disable();
        enable_controller();
    }
    void set_queues() { EXPECT_EQ(polled(command(AdminOpcode::set_features, 7, 0)).value, 0U); }
    void start() {
        Command identify = command(AdminOpcode::identify, 1);
        identify.prp1 = data;
        EXPECT_EQ(polled(identify).status, 0);
        EXPECT_EQ(ram.load<std::uint8_t>(data + 259), 3); // AERL
        ASSERT_EQ(create_completion_queue(1, depth).status, 0);
        ASSERT_EQ(create_submission_queue(1, depth, 1).status, 0);
        pairs[1] = place_of(1, depth);
        identify.words[0] = 0;
        identify.namespace_id = 1;
        EXPECT_EQ(polled(identify).status, 0);
        const std::uint32_t threshold = polled(command(AdminOpcode::get_features, 4)).value & 0xffffU;
        EXPECT_TRUE(threshold != 0 && threshold != 0xffff);
        EXPECT_EQ(polled(command(AdminOpcode::set_features, 0x0b, 0x31f)).status, 0);
        for (unsigned i = 0; i < 4; ++i) {
            put(0, command(AdminOpcode::asynchronous_event_request));
            ring(0);
        }
        EXPECT_EQ(polled(command(AdminOpcode::set_features, 8, 0)).status, 0);
    }
    Result polled(const Command& what) {
        set(at::intms, 1);
        const Result result = run(0, what);
        set(at::intmc, 1);
        return result;
    }
};

TEST_F(NvmeAsFreeBsd, MasksTheInterruptInItsHandler) {
    holds_work = true;
    for (unsigned i = 0; i < 20; ++i) {
        Command made = command(IoOpcode::read, i);
        made.prp1 = data + (i * page);
        put(1, made);
        ring(1); // for each
        serve();
    }
    EXPECT_EQ(work.size(), 20U);
    EXPECT_TRUE(end(3));
    EXPECT_TRUE(nvme.interrupt_line());
    set(at::intms, 1);
    EXPECT_FALSE(nvme.interrupt_line());
    EXPECT_TRUE(take(1));
    EXPECT_TRUE(end(3)); // while the handler polls
    EXPECT_FALSE(nvme.interrupt_line());
    set(at::intmc, 1);
    EXPECT_TRUE(nvme.interrupt_line());
    EXPECT_TRUE(take(1));
    EXPECT_FALSE(nvme.interrupt_line());
    while (!work.empty()) {
        EXPECT_TRUE(end());
    }
    unsigned taken = 0;
    while (take(1)) {
        ++taken;
    }
    EXPECT_EQ(taken, 18U);
}

TEST_F(NvmeAsFreeBsd, DestroysAndResets) {
    EXPECT_EQ(write(0, 8, data).status, 0);
    EXPECT_EQ(run(0, command(AdminOpcode::delete_submission_queue, 1)).status, 0);
    EXPECT_EQ(run(0, command(AdminOpcode::delete_completion_queue, 1)).status, 0);
    disable();
    set(at::cc, get(at::cc) | (1U << 14U)); // the shutdown after it
    EXPECT_EQ(csts() & (3U << 2U), csts_shst_complete);
    set(at::cc, 0);
    reset();
    set_queues();
    start();
    EXPECT_EQ(read(0, 8, data).status, 0);
}

} // namespace
} // namespace previrt
