// SPDX-License-Identifier: BSD-2-Clause
// The controllers between the guest's memory and the back-end's disks.
#include "frontends/x86/devices/disks.hpp"

#include "devices/nvme/command.hpp"
#include "devices/nvme/registers.hpp"
#include "frontends/x86/devices/device_memory.hpp"
#include "frontends/x86/devices/machine.hpp"
#include "inplace-vmm/backend/memory.hpp"
#include "inplace-vmm/counters.hpp"
#include "tests/unit/vmm/fake_backend.hpp"
#include "tests/unit/vmm/fake_disks.hpp"

#include <cstring>
#include <gtest/gtest.h>

namespace previrt {

namespace {

using namespace nvme;

constexpr std::uint64_t ram_bytes = 4ULL << 20U;
constexpr std::uint64_t disk_bytes = 1U << 20U;
constexpr std::uint64_t submissions = 0x1'0000; // of queue 0; the next queue's follow
constexpr std::uint64_t completions = 0x2'0000;
constexpr std::uint64_t stride = 0x1000;
constexpr std::uint16_t entries = 16;
constexpr std::uint64_t buffers = 0x10'0000;

// A guest that drives the controllers where its firmware has put them.
class Disks : public testing::Test {
protected:
    void SetUp() override {
        fake::start(ram_bytes, 64);
        pc.start(0, ram_bytes, 0);
        for (unsigned i = 0; i < 2; ++i) {
            fake::add_disk(disk_bytes);
        }
        insert_disks();
        take_events();
        write_command(0, 7);
        write_command(1, 7);
    }

    static void set(std::uint32_t offset, std::uint32_t value, unsigned disk = 0) {
        write_device(Pc::disk_memory + (disk * 0x4000ULL) + offset, &value, sizeof value);
    }
    static std::uint32_t get(std::uint32_t offset, unsigned disk = 0) {
        std::uint32_t value = 0;
        read_device(Pc::disk_memory + (disk * 0x4000ULL) + offset, &value, sizeof value);
        return value;
    }
    // Of the function's configuration space: memory 2, bus master 4, no INTx 0x400.
    static void write_command(unsigned disk, std::uint32_t value) {
        ASSERT_TRUE(pc.write(0xcf8, 4, 0x8000'0004 | ((Pc::first_disk_device + disk) << 11U), 0));
        ASSERT_TRUE(pc.write(0xcfc, 2, value, 0));
    }
    void enable(unsigned disk = 0) {
        std::memset(backend::guest_ram() + completions, 0, 4 * stride);
        set(at::aqa, (entries - 1U) | ((entries - 1U) << 16U), disk);
        set(at::asq, submissions, disk);
        set(at::acq, completions, disk);
        set(at::cc, 0x0046'0001, disk);
        tails[0] = tails[1] = taken[0] = taken[1] = 0;
        Command made{};
        made.opcode = static_cast<std::uint8_t>(AdminOpcode::create_completion_queue);
        made.prp1 = completions + stride;
        made.words[0] = 1 | ((entries - 1U) << 16U);
        made.words[1] = 3;
        post(0, made, disk);
        made.opcode = static_cast<std::uint8_t>(AdminOpcode::create_submission_queue);
        made.prp1 = submissions + stride;
        made.words[1] = 1 | (1U << 16U);
        post(0, made, disk);
        EXPECT_EQ(take(0, disk), 0);
        EXPECT_EQ(take(0, disk), 0);
    }
    void post(unsigned queue, Command command, unsigned disk = 0) {
        command.identifier = static_cast<std::uint16_t>(tails[queue]);
        std::memcpy(backend::guest_ram() + submissions + (queue * stride) +
                        ((tails[queue] % entries) * sizeof(Command)),
                    &command, sizeof command);
        ++tails[queue];
        set(at::doorbells + (queue * 8), tails[queue] % entries, disk);
    }
    // The status of the next completion; -1: there is none.
    int take(unsigned queue, unsigned disk = 0) {
        Completion completion{};
        std::memcpy(&completion,
                    backend::guest_ram() + completions + (queue * stride) +
                        ((taken[queue] % entries) * sizeof(Completion)),
                    sizeof completion);
        const std::uint32_t phase = (taken[queue] / entries) % 2 == 0 ? 1 : 0;
        if (((completion.identifier_and_status >> 16U) & 1U) != phase) {
            return -1;
        }
        ++taken[queue];
        set(at::doorbells + (queue * 8) + 4, taken[queue] % entries, disk);
        return static_cast<int>(completion.identifier_and_status >> 17U);
    }
    void post_io(IoOpcode opcode, std::uint64_t lba, std::uint32_t blocks, std::uint64_t address,
                 unsigned disk = 0) {
        Command made{};
        made.opcode = static_cast<std::uint8_t>(opcode);
        made.namespace_id = 1;
        made.prp1 = address;
        made.prp2 = address + 4096;
        made.words[0] = static_cast<std::uint32_t>(lba);
        made.words[2] = blocks - 1;
        post(1, made, disk);
    }

    std::uint32_t tails[2] = {};
    std::uint32_t taken[2] = {};
};

TEST_F(Disks, MoveDataWithOneDoorbellAndOneInterrupt) {
    enable();
    std::memset(backend::guest_ram() + buffers, 0x5a, 8192);
    fake::disks[0].calls = 0;
    post_io(IoOpcode::write, 8, 16, buffers);
    ASSERT_EQ(fake::disks[0].work.size(), 1U);
    EXPECT_EQ(fake::disks[0].calls, 1U);
    EXPECT_EQ(fake::disks[0].work[0].pieces.size(), 1U);
    EXPECT_TRUE(fake::disks[0].waits_for_end); // an event comes
    EXPECT_FALSE(pc.pic.pending(Pc::disk_irq));
    post_io(IoOpcode::read, 8, 16, buffers + 0x4000);
    fake::disks[0].work_off();
    take_events();
    EXPECT_TRUE(pc.pic.pending(Pc::disk_irq));
    EXPECT_EQ(take(1), 0);
    EXPECT_TRUE(pc.pic.pending(Pc::disk_irq));
    EXPECT_EQ(take(1), 0);
    EXPECT_FALSE(pc.pic.pending(Pc::disk_irq));
    EXPECT_EQ(take(1), -1);
    EXPECT_EQ(std::memcmp(backend::guest_ram() + buffers, backend::guest_ram() + buffers + 0x4000, 8192), 0);
    EXPECT_EQ(fake::disks[0].bytes[4096], 0x5a);
    EXPECT_EQ(counters.disk_requests, 2U);
    EXPECT_TRUE(fake::disks[1].work.empty());
}

// A guest that does not halt: doorbells wait for further requests.
class BusyGuest : public Disks {
protected:
    static constexpr std::uint64_t longest_wait = 200'000;

    void SetUp() override {
        Disks::SetUp();
        enable();
        enable(1);
        start_interrupt_controllers();
        pc.rest_processor(false);
        for (bool waits = false; !waits;) { // earlier tests may have left a pause
            read(4);
            waits = disks_due().has_value();
            rest();
            finish(4);
        }
        fake::disks[0].calls = 0;
    }
    void TearDown() override {
        pc.rest_processor(true);
        take_events();
    }
    static void rest() {
        pc.rest_processor(true);
        take_events();
        pc.rest_processor(false);
    }
    void finish(unsigned count) {
        fake::disks[0].work_off();
        take_events();
        for (unsigned i = 0; i < count; ++i) {
            EXPECT_EQ(take(1), 0);
        }
    }
    void read(unsigned count, unsigned disk = 0) {
        for (unsigned i = 0; i < count; ++i) {
            post_io(IoOpcode::read, i, 1, buffers, disk);
        }
    }
    static void start_interrupt_controllers() {
        for (const std::uint16_t port : {std::uint16_t{0x20}, std::uint16_t{0xa0}}) {
            ASSERT_TRUE(pc.write(port, 1, 0x11, 0));
            for (const std::uint32_t word : {0x20U, 0x04U, 0x01U, 0x00U}) {
                ASSERT_TRUE(pc.write(static_cast<std::uint16_t>(port + 1), 1, word, 0));
            }
        }
    }
    static unsigned calls(unsigned disk = 0) { return fake::disks[disk].calls; }
};

TEST_F(BusyGuest, RingsOnceForManyRequestsAndIsInterruptedOnce) {
    const std::uint64_t interrupts = counters.delivered[Pc::disk_irq];
    read(5);
    EXPECT_EQ(fake::disks[0].work.size(), 5U); // a thread that is awake sees them
    EXPECT_EQ(calls(), 0U);
    rest();
    EXPECT_EQ(calls(), 1U);
    take_events();
    EXPECT_EQ(calls(), 1U);
    fake::disks[0].work_off();
    EXPECT_FALSE(pc.pic.pending(Pc::disk_irq));
    take_events();
    EXPECT_TRUE(pc.pic.pending(Pc::disk_irq));
    for (unsigned i = 0; i < 5; ++i) {
        EXPECT_EQ(take(1), 0);
    }
    EXPECT_FALSE(pc.pic.pending(Pc::disk_irq));
    EXPECT_EQ(counters.delivered[Pc::disk_irq], interrupts);
}

// For one or two requests at a time, a timer costs more than a doorbell.
TEST_F(BusyGuest, RingsAtOnceWhereWaitsGatherFewRequests) {
    for (const unsigned pause : {4U, 8U, 16U, 32U, 64U, 64U}) {
        fake::disks[0].calls = 0;
        read(2);
        EXPECT_EQ(calls(), 0U) << pause;
        EXPECT_TRUE(disks_due());
        rest();
        EXPECT_EQ(calls(), 1U);
        finish(2);
        for (unsigned i = 0; i < pause; ++i) {
            read(1);
            EXPECT_EQ(calls(), i + 2) << pause;
            EXPECT_FALSE(disks_due());
            finish(1);
        }
    }
    read(4);
    rest();
    finish(4); // it was worth while
    fake::disks[0].calls = 0;
    read(1);
    EXPECT_EQ(calls(), 0U);
    rest();
    EXPECT_EQ(calls(), 1U);
}

TEST_F(BusyGuest, RingsWhenItsTimerExpires) {
    read(1);
    const std::uint64_t begin = fake::host.now;
    fake::host.now += longest_wait / 2;
    read(1); // the wait is that of the first
    take_events();
    EXPECT_EQ(calls(), 0U);
    ASSERT_TRUE(fake::host.timer);
    EXPECT_EQ(*fake::host.timer, begin + longest_wait);
    fake::host.now = *fake::host.timer;
    take_events();
    EXPECT_EQ(calls(), 1U);
    EXPECT_FALSE(disks_due());
    EXPECT_TRUE(!fake::host.timer || *fake::host.timer > fake::host.now);
}

// It has disabled interrupts, one is requested, and it looks at its completion queue alone.
TEST_F(BusyGuest, RingsWhileAnInterruptIsRequested) {
    read(4);
    rest();
    fake::disks[0].work_off();
    take_events();
    ASSERT_TRUE(pc.interrupt_requested(Pc::boot_processor));
    fake::disks[0].calls = 0;
    read(1);
    ASSERT_TRUE(pc.interrupt_requested(Pc::boot_processor));
    EXPECT_EQ(calls(), 0U);
    ASSERT_TRUE(fake::host.timer);
    EXPECT_EQ(*fake::host.timer, fake::host.now + longest_wait);
    for (unsigned i = 0; calls() == 0; ++i) {
        ASSERT_LT(i, 10U);
        ASSERT_TRUE(fake::host.timer);
        ASSERT_GT(*fake::host.timer, fake::host.now);
        fake::host.now = *fake::host.timer;
        take_events();
    }
}

TEST_F(BusyGuest, RingsForThe32ndRequest) {
    for (unsigned i = 0; i < 31; ++i) {
        EXPECT_EQ(calls(), 0U) << i;
        read(1);
        if (i % 8 == 7) { // the driver's ring is a short one
            fake::disks[0].work_off();
            take_events();
            while (take(1) == 0) {
            }
        }
    }
    EXPECT_EQ(calls(), 0U);
    read(1);
    EXPECT_EQ(calls(), 1U);
    read(1);
    EXPECT_EQ(calls(), 1U);
}

TEST_F(BusyGuest, RingsOfSeveralDisksTogether) {
    read(1);
    tails[1] = 0; // of the other disk
    read(1, 1);
    EXPECT_EQ(calls(0) + calls(1), 0U);
    fake::host.now += longest_wait;
    take_events();
    EXPECT_EQ(calls(0), 1U);
    EXPECT_EQ(calls(1), 1U);
}

TEST_F(BusyGuest, DoesNotRingForAThreadThatIsAwake) {
    fake::disks[0].sleeps = false;
    read(1);
    EXPECT_FALSE(disks_due());
    fake::disks[0].sleeps = true;
    fake::host.now += longest_wait;
    take_events();
    EXPECT_EQ(calls(), 0U);
}

TEST_F(BusyGuest, RingsForAReset) {
    read(1);
    EXPECT_EQ(calls(), 0U);
    set(at::cc, 0x0046'0000);
    EXPECT_EQ(calls(), 1U);
    EXPECT_EQ(get(at::csts), csts_rdy);
    fake::disks[0].work_off();
    EXPECT_EQ(get(at::csts), 0U);
    EXPECT_FALSE(disks_due());
}

TEST_F(BusyGuest, RingsWhenThereIsNoRoomForFurtherRequests) {
    fake::disks[0].room = 1;
    read(1);
    EXPECT_EQ(calls(), 0U);
    read(1);
    EXPECT_EQ(calls(), 1U);
}

// Otherwise nothing would set its timer.
TEST_F(BusyGuest, SetsTheTimerForWhatItsReadOfARegisterHandsOver) {
    fake::disks[0].room = 4;
    read(5);
    fake::disks[0].work_off();
    fake::disks[0].calls = 0;
    (void)get(at::csts);
    ASSERT_EQ(fake::disks[0].work.size(), 1U);
    EXPECT_EQ(calls(), 0U);
    ASSERT_TRUE(fake::host.timer);
    EXPECT_LE(*fake::host.timer, fake::host.now + longest_wait);
}

TEST_F(Disks, AreSeveral) {
    enable(1);
    fake::disks[1].bytes[0] = 7;
    post_io(IoOpcode::read, 0, 8, buffers, 1);
    EXPECT_TRUE(fake::disks[0].work.empty());
    fake::disks[1].work_off();
    take_events();
    EXPECT_EQ(take(1, 1), 0);
    EXPECT_EQ(backend::guest_ram()[buffers], 7);
}

TEST_F(Disks, WaitForRoomOfTheHost) {
    enable();
    fake::disks[0].room = 1;
    for (unsigned i = 0; i < 3; ++i) {
        post_io(IoOpcode::write, i, 1, buffers);
    }
    for (unsigned i = 0; i < 3; ++i) {
        ASSERT_EQ(fake::disks[0].work.size(), 1U) << i;
        EXPECT_EQ(fake::disks[0].work[0].offset, i * 512);
        fake::disks[0].work_off();
        take_events();
        EXPECT_EQ(take(1), 0);
    }
    EXPECT_TRUE(fake::disks[0].work.empty());
}

TEST_F(Disks, TellErrors) {
    enable();
    post_io(IoOpcode::read, 0, 1, buffers);
    fake::disks[0].end(0, backend::DiskResult::read_error);
    post_io(IoOpcode::write, 0, 1, buffers);
    fake::disks[0].end(0, backend::DiskResult::no_space);
    post_io(IoOpcode::read, 0, 1, ram_bytes);
    take_events();
    EXPECT_EQ(take(1) & 0x7ff, 0x281);
    EXPECT_EQ(take(1) & 0x7ff, 0x081);
    EXPECT_EQ(take(1) & 0x7ff, 0x004);
}

// A driver that polls with interrupts disabled sees the end of its reset.
TEST_F(Disks, AResetEndsWhenTheHostHasDone) {
    enable();
    post_io(IoOpcode::read, 0, 1, buffers);
    set(at::cc, 0x0046'0000);
    EXPECT_EQ(get(at::csts), csts_rdy);
    fake::disks[0].work_off();
    EXPECT_EQ(get(at::csts), 0U);
    EXPECT_FALSE(pc.pic.pending(Pc::disk_irq));
    enable();
    EXPECT_EQ(take(1), -1);
    post_io(IoOpcode::read, 0, 1, buffers);
    fake::disks[0].work_off();
    take_events();
    EXPECT_EQ(take(1), 0);
}

TEST_F(Disks, DoNothingUnlessTheyMasterTheBus) {
    enable();
    post_io(IoOpcode::read, 0, 1, buffers);
    write_command(0, 3);
    fake::disks[0].work_off();
    take_events();
    EXPECT_EQ(take(1), -1);
    post_io(IoOpcode::read, 0, 1, buffers);
    EXPECT_TRUE(fake::disks[0].work.empty());
    write_command(0, 7);
    take_events();
    EXPECT_EQ(take(1), 0);
    EXPECT_EQ(fake::disks[0].work.size(), 1U);
    write_command(0, 0x407); // no INTx
    fake::disks[0].work_off();
    take_events();
    EXPECT_FALSE(pc.pic.pending(Pc::disk_irq));
    EXPECT_EQ(take(1), 0);
    write_command(0, 5); // no registers
    EXPECT_FALSE(pc.claims_memory(Pc::disk_memory, 4));
    EXPECT_TRUE(pc.claims_memory(Pc::disk_memory + 0x4000, 4));
}

TEST_F(Disks, AResetEndsWithoutTheBus) {
    enable();
    post_io(IoOpcode::read, 0, 1, buffers);
    write_command(0, 3);
    set(at::cc, 0x0046'0000);
    fake::disks[0].work_off();
    EXPECT_EQ(get(at::csts), 0U);
}

TEST_F(Disks, AHostThatInventsCompletionsStopsTheGuest) {
    enable();
    post_io(IoOpcode::read, 0, 1, buffers);
    fake::disks[0].ends.push_back({.token = 1ULL << 32U, .result = backend::DiskResult::done});
    EXPECT_THROW(take_events(), fake::Stop);
}

TEST_F(Disks, RegistersNeedTheirPlace) {
    EXPECT_EQ(get(at::vs), 0x1'0400U);
    EXPECT_EQ(get(at::vs, 1), 0x1'0400U);
    std::uint16_t half = 0;
    EXPECT_THROW(read_device(Pc::disk_memory, &half, sizeof half), fake::Stop);
}

} // namespace

} // namespace previrt
