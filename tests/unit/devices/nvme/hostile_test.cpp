// SPDX-License-Identifier: BSD-2-Clause
// A driver that means no good, and changes its structures while the controller reads them: the controller
// reaches nothing but RAM, every call ends, and each transfer's end is taken.
#include "devices/nvme/registers.hpp"
#include "tests/unit/devices/nvme/machine.hpp"

#include <cstring>
#include <gtest/gtest.h>
#include <random>

namespace previrt {
namespace {

using namespace nvme;

class HostileDriver : protected NvmeMachine {
public:
    explicit HostileDriver(std::uint64_t seed) : random_(seed) {}

    void run(unsigned steps) {
        for (unsigned i = 0; i < steps && !testing::Test::HasFailure(); ++i) {
            if ((csts() & (csts_rdy | csts_cfs)) != csts_rdy && choose(4) == 0) {
                start();
            }
            step();
        }
    }
    [[nodiscard]] std::uint64_t transfers() const { return transfers_; }
    [[nodiscard]] std::uint64_t failures() const { return nvme.log.error_count; }

private:
    // A command has at most a list of pieces, which are looked at twice; queues have at most this many
    // entries.
    static constexpr std::uint64_t most_accesses = 1'000'000;

    std::uint32_t choose(std::uint32_t end) { return static_cast<std::uint32_t>(random_() % end); }

    std::uint64_t address() {
        const std::uint64_t near = choose(0x2'0000);
        switch (choose(8)) {
        case 0:
            return random_();
        case 1:
            return ~std::uint64_t{0} - near;
        case 2:
            return ram_bytes - near;
        case 3:
            return place_of(choose(3), 8).submission + (near & 0xfffU); // queues within queues
        default:
            return near & ~(page - 1);
        }
    }

    void start() {
        set(at::cc, 0);
        while (!work.empty()) {
            EXPECT_TRUE(end());
        }
        enable(static_cast<std::uint16_t>(2 + choose(30)));
        for (std::uint32_t queue = 1; queue < 4; ++queue) {
            pairs[queue] = place_of(queue, 8);
            std::memset(ram.at(pairs[queue].completion, 0x100), 0, 0x100);
            Command made = command(AdminOpcode::create_completion_queue, queue | (7U << 16U), 3);
            made.prp1 = choose(8) == 0 ? address() & ~(page - 1) : pairs[queue].completion;
            nvme.completion[0].head = nvme.completion[0].tail;
            post(0, made);
            made = command(AdminOpcode::create_submission_queue, queue | (7U << 16U), 1 | (queue << 16U));
            made.prp1 = choose(8) == 0 ? address() & ~(page - 1) : pairs[queue].submission;
            post(0, made);
        }
    }

    Command some_command(std::uint32_t queue) {
        constexpr std::uint8_t admin[] = {0, 1, 2, 4, 5, 6, 8, 9, 10, 12};
        constexpr std::uint8_t io[] = {0, 1, 2, 8, 9};
        Command made{};
        made.opcode = queue == 0 ? admin[choose(std::size(admin))] : io[choose(std::size(io))];
        if (choose(16) == 0) {
            made.opcode = static_cast<std::uint8_t>(random_());
        }
        made.flags = choose(32) == 0 ? static_cast<std::uint8_t>(random_()) : 0;
        made.namespace_id = choose(8) == 0 ? choose(3) : 1;
        made.prp1 = address();
        made.prp2 = address();
        for (std::uint32_t& word : made.words) {
            word = choose(8) == 0 ? static_cast<std::uint32_t>(random_()) : choose(64);
        }
        if (queue == 0) {
            made.words[0] = choose(20) | (choose(8) << 16U);
            made.words[1] = choose(4) | (choose(4) << 16U);
            made.namespace_id = 0;
        } else if (made.opcode != 9) {
            made.words[1] = choose(16) == 0 ? 1 : 0;
            made.words[2] = choose(4) == 0 ? choose(3000) : choose(20);
        } else {
            made.words[1] = 4;
        }
        return made;
    }

    void post(std::uint32_t queue, const Command& what) {
        const SubmissionQueue& to = nvme.submission[queue];
        const Pair& pair = pairs[queue];
        if (!to.exists() || pair.entries == 0) {
            return;
        }
        ram.store(pair.submission + (to.tail * sizeof(Command)), what);
        set(doorbell(queue, false), to.next(to.tail));
        serve_watched();
    }

    void scribble() {
        if (choose(2) == 0) {
            ram.store(choose(0x2'0000 / 8) * std::uint64_t{8}, address());
            return;
        }
        const std::uint32_t queue = choose(4);
        ram.store(place_of(queue, 8).submission + (choose(8) * sizeof(Command)), some_command(queue));
    }

    void serve_watched() {
        accesses_ = 0;
        nvme.serve({.reach = reach, .context = this}, pieces_, {.submit = submit, .context = this});
    }

    void step() {
        scribble();
        const std::uint32_t queue = choose(4);
        switch (choose(12)) {
        case 0:
            set(at::doorbells + (choose(64) * 4),
                choose(3) == 0 ? static_cast<std::uint32_t>(random_()) : choose(40));
            break;
        case 1:
            if (choose(20) == 0) {
                set(choose(16) * 4, choose(2) == 0 ? static_cast<std::uint32_t>(random_()) : cc_of_drivers);
            }
            break;
        case 2:
        case 3:
            set(doorbell(queue, true), nvme.completion[queue].tail);
            break;
        case 4:
        case 5:
        case 6:
            if (!work_.empty()) {
                const std::size_t place = choose(static_cast<std::uint32_t>(work_.size()));
                EXPECT_TRUE(nvme.complete({.reach = reach, .context = this}, pieces_, work_[place],
                                          static_cast<TransferEnd>(choose(5))));
                work_.erase(work_.begin() + static_cast<std::ptrdiff_t>(place));
            }
            break;
        default:
            post(queue, some_command(queue));
        }
        serve_watched();
        EXPECT_EQ(nvme.transfers(), work_.size());
        for (const SubmissionQueue& each : nvme.submission) {
            EXPECT_TRUE(!each.exists() || (each.head < each.size && each.tail < each.size));
        }
        for (const CompletionQueue& each : nvme.completion) {
            EXPECT_TRUE(!each.exists() || each.used() + each.reserved < each.size);
        }
    }

    static bool submit(void* context, const Transfer& transfer) {
        HostileDriver& self = *static_cast<HostileDriver*>(context);
        self.check_transfer(transfer);
        for (const std::uint32_t token : self.work_) {
            EXPECT_NE(token, transfer.token);
        }
        if (self.work_.size() >= 20) {
            return false;
        }
        ++self.transfers_;
        self.work_.push_back(transfer.token);
        return true;
    }

    static std::uint8_t* reach(void* context, std::uint64_t address, std::uint64_t bytes,
                               GuestMemory::Access /*access*/) {
        HostileDriver& self = *static_cast<HostileDriver*>(context);
        EXPECT_LE(++self.accesses_, most_accesses);
        if (self.choose(4) == 0) {
            self.scribble(); // another processor
        }
        return self.ram.at(address, bytes);
    }

    std::mt19937_64 random_;
    std::vector<std::uint32_t> work_; // tokens
    std::array<Piece, most_pieces> pieces_{};
    std::uint64_t accesses_ = 0;
    std::uint64_t transfers_ = 0;
};

TEST(HostileNvmeDriver, ReachesNothingButRam) {
    std::uint64_t transfers = 0;
    std::uint64_t failures = 0;
    for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
        HostileDriver driver(seed);
        driver.run(25'000);
        transfers += driver.transfers();
        failures += driver.failures();
    }
    // It got that far.
    EXPECT_GT(transfers, 1'000U);
    EXPECT_GT(failures, 1'000U);
}

// As many commands at once as its queues hold.
TEST(HostileNvmeDriver, FillsAllQueues) {
    NvmeMachine machine;
    machine.enable();
    for (std::uint32_t queue = 1; queue < Nvme::most_queues; ++queue) {
        machine.create_pair(queue, most_entries);
    }
    machine.holds_work = true;
    for (std::uint32_t queue = 1; queue < Nvme::most_queues; ++queue) {
        for (unsigned i = 0; i < most_entries - 1U; ++i) {
            machine.put(queue, NvmeMachine::command(IoOpcode::write_zeroes, i));
        }
        machine.ring(queue);
    }
    machine.settle();
    EXPECT_EQ(machine.work.size(), Slots::count);
    machine.holds_work = false;
    machine.settle();
    for (std::uint32_t queue = 1; queue < Nvme::most_queues; ++queue) {
        unsigned taken = 0;
        while (machine.take(queue)) {
            ++taken;
        }
        EXPECT_EQ(taken, most_entries - 1U) << queue;
    }
}

} // namespace
} // namespace previrt
