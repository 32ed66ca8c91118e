// SPDX-License-Identifier: BSD-2-Clause
// The controller as Linux's nvme goes about it, access by access, with INTx: probe, one queue for I/O that is
// as long as the controller permits, a handler that takes all completions, reset and shutdown.
#include "tests/unit/devices/nvme/machine.hpp"

#include <cstring>
#include <gtest/gtest.h>

namespace previrt {
namespace {

using namespace nvme;

class NvmeAsLinux : public testing::Test, protected NvmeMachine {
protected:
    static constexpr std::uint16_t admin_depth = 32;

    void SetUp() override { probe(); }

    void disable() {
        set(at::cc, get(at::cc) & ~(cc_en | cc_shn));
        wait_for(0);
    }
    void wait_for(std::uint32_t ready) {
        for (unsigned i = 0; i < 1000 && (csts() & csts_rdy) != ready; ++i) {
            settle(); // the VMM looks for completions when the status is read
        }
        ASSERT_EQ(csts() & csts_rdy, ready);
    }

    void probe() {
        ASSERT_NE(csts(), 0xffff'ffffU);
        const std::uint64_t cap = get(at::cap) | (std::uint64_t{get(at::cap + 4)} << 32U);
        depth = static_cast<std::uint16_t>((cap & 0xffffU) + 1);
        ASSERT_EQ((cap >> 32U) & 0xfU, 0U);
        ASSERT_EQ(get(at::vs), 0x1'0400U);
        ASSERT_EQ(get(0x3c), 0U); // CMBSZ
        disable();
        set(at::aqa, (admin_depth - 1U) | ((admin_depth - 1U) << 16U));
        pairs[0] = place_of(0, admin_depth);
        std::memset(ram.at(pairs[0].completion, 0x1000), 0, 0x1000);
        set_pair(at::asq, pairs[0].submission);
        set_pair(at::acq, pairs[0].completion);
        set(at::cc, 0x0046'0000);
        set(at::cc, 0x0046'0001);
        wait_for(csts_rdy);
        identify(1, 0);
        EXPECT_EQ(ram.load<std::uint8_t>(data + 77), 8);
        EXPECT_NE(run(0, command(AdminOpcode::identify, 6)).status, 0); // 2.0's limits: it goes on without
        read_log(5, page);
        EXPECT_EQ(run(0, command(AdminOpcode::set_features, 7, 0)).value, 0U); // one queue
        ASSERT_EQ(create_completion_queue(1, depth).status, 0);
        ASSERT_EQ(create_submission_queue(1, depth, 1).status, 0);
        pairs[1] = place_of(1, depth);
        put(0, command(AdminOpcode::asynchronous_event_request));
        ring(0);
        settle();
        identify(2, 0);
        EXPECT_EQ(ram.load<std::uint32_t>(data), 1U);
        identify(3, 1);
        EXPECT_EQ(ram.load<std::uint8_t>(data), 3);
        identify(0, 1);
        EXPECT_EQ(ram.load<std::uint64_t>(data), disk_bytes / 512);
        EXPECT_EQ(refused, 0U);
    }
    void identify(std::uint32_t structure, std::uint32_t id) {
        Command made = command(AdminOpcode::identify, structure);
        made.namespace_id = id;
        made.prp1 = data;
        ASSERT_EQ(run(0, made).status, 0) << structure;
    }
    void read_log(std::uint32_t which, std::uint32_t bytes) {
        Command made = command(AdminOpcode::get_log_page, which | (((bytes / 4) - 1) << 16U));
        made.namespace_id = all_namespaces;
        made.prp1 = data;
        ASSERT_EQ(run(0, made).status, 0) << which;
    }

    // All completions there are, then the doorbell once.
    unsigned handle_interrupt() {
        unsigned taken = 0;
        Pair& pair = pairs[1];
        while (look(1)) {
            EXPECT_EQ(result_of(*look(1)).status, 0);
            pair.head = static_cast<std::uint16_t>((pair.head + 1U) % pair.entries);
            pair.phase = pair.head == 0 ? !pair.phase : pair.phase;
            ++taken;
        }
        if (taken != 0) {
            set(doorbell(1, true), pair.head);
        }
        return taken;
    }

    std::uint16_t depth = 0;
};

TEST_F(NvmeAsLinux, MovesDataUnderLoad) {
    ASSERT_EQ(depth, 1024);
    holds_work = true;
    unsigned written_commands = 0;
    for (unsigned round = 0; round < 40; ++round) {
        for (unsigned i = 0; i < 100; ++i) { // one doorbell for all
            const std::uint64_t address = data + (i * std::uint64_t{0x4000});
            Command made = command(IoOpcode::write, std::uint64_t{i} * 32, 32);
            give_memory(made, address, 0x4000, lists + (std::uint64_t{i} * 64));
            fill(address, 0x4000, static_cast<std::uint8_t>(round + i));
            put(1, made);
        }
        ring(1);
        serve();
        EXPECT_FALSE(nvme.interrupt_line());
        EXPECT_EQ(work.size(), 100U);
        while (!work.empty()) {
            const std::size_t place = work.size() * 7 / 10;
            execute(place);
            EXPECT_TRUE(end(place));
        }
        EXPECT_TRUE(nvme.interrupt_line());
        written_commands += handle_interrupt();
        EXPECT_FALSE(nvme.interrupt_line());
    }
    EXPECT_EQ(written_commands, 4000U);
    for (unsigned i = 0; i < 100; ++i) {
        EXPECT_EQ(disk[i * std::size_t{0x4000}], pattern(static_cast<std::uint8_t>(39 + i), 0));
    }
}

TEST_F(NvmeAsLinux, ResetsWithCommandsInFlight) {
    holds_work = true;
    Command made = command(IoOpcode::read);
    made.prp1 = data;
    put(1, made);
    ring(1);
    serve();
    ASSERT_EQ(work.size(), 1U);
    // nvme_dev_disable(): deletes the queue, in vain as it seems, and then disables the controller.
    put(0, command(AdminOpcode::delete_submission_queue, 1));
    ring(0);
    serve();
    set(at::cc, get(at::cc) & ~cc_en);
    EXPECT_EQ(csts() & csts_rdy, csts_rdy);
    holds_work = false;
    wait_for(csts_rdy); // still
    EXPECT_TRUE(work.empty() || end());
    wait_for(0);
    pairs = {};
    probe();
    EXPECT_EQ(write(5, 1, data).status, 0);
}

TEST_F(NvmeAsLinux, ShutsDown) {
    EXPECT_EQ(write(5, 1, data).status, 0);
    EXPECT_EQ(run(0, command(AdminOpcode::delete_submission_queue, 1)).status, 0);
    EXPECT_EQ(run(0, command(AdminOpcode::delete_completion_queue, 1)).status, 0);
    set(at::cc, (get(at::cc) & ~cc_shn) | (1U << 14U));
    for (unsigned i = 0; i < 3; ++i) {
        settle();
    }
    EXPECT_EQ(csts() & (3U << 2U), csts_shst_complete);
    EXPECT_EQ(done.back().transfer.operation, Operation::flush);
    probe(); // the next kernel
    EXPECT_EQ(read(5, 1, data).status, 0);
}

} // namespace
} // namespace previrt
