// SPDX-License-Identifier: BSD-2-Clause
#include "tests/unit/devices/virtio/folder_machine.hpp"
#include "tests/unit/devices/virtio/hostile_driver.hpp"

#include <gtest/gtest.h>
#include <string>

namespace previrt {
namespace {

class Folder : public testing::Test, protected FolderMachine {};

TEST_F(Folder, FunctionAndRegistersAreThoseOfTheSpecification) {
    Pci pci;
    const PciFunction* const function = VirtioFs::add_function(pci, 8);
    ASSERT_NE(function, nullptr);
    EXPECT_EQ(function->read(0, 4), 0x105a'1af4U);
    EXPECT_EQ(get(device_feature, 4), 1U << 28U);
    EXPECT_EQ(get(num_queues, 2), 2U);
    EXPECT_EQ(get(queue_size, 2), 1024U);
    std::string tag;
    for (std::uint32_t at = 0x40; at < 0x40 + virtio_fs::most_tag_bytes; ++at) {
        tag += static_cast<char>(get(at, 1));
    }
    EXPECT_EQ(tag.c_str(), std::string("a folder's tag"));
    EXPECT_EQ(get(0x40, 4), 0x6f66'2061U); // Linux may read several bytes at once
    EXPECT_EQ(get(0x64, 4), 1U);           // queues of requests
    EXPECT_EQ(refused, 0U);
    EXPECT_FALSE(folder.read(0x64, 2));
    EXPECT_FALSE(folder.read(0x63, 2));
    EXPECT_FALSE(folder.read(0x68, 4));
    EXPECT_FALSE(folder.write(0x40, 4, 5));
}

TEST_F(Folder, ServerGetsTheQueuesOfARunningDriver) {
    accept(indirect_tables | version_1);
    serve();
    enable_queue(urgent_queue);
    enable_queue(request_queue);
    serve();
    EXPECT_EQ(begun, 0U);
    set(device_status, 1, 15);
    serve();
    EXPECT_EQ(begun, 1U);
    for (std::uint64_t number = 0; number < 2; ++number) {
        EXPECT_TRUE(queues.at(number).is_enabled);
        EXPECT_EQ(queues.at(number).size, entries);
        EXPECT_EQ(queues.at(number).descriptors, descriptors + (number * queue_stride));
        EXPECT_EQ(queues.at(number).available, available + (number * queue_stride));
        EXPECT_EQ(queues.at(number).used, used + (number * queue_stride));
    }
    serve();
    EXPECT_EQ(begun, 1U);
}

TEST_F(Folder, RequestsAndAnswersPass) {
    start();
    serve();
    kick(request_queue);
    kick(urgent_queue);
    EXPECT_EQ(notified, (std::vector<unsigned>{1, 0}));
    EXPECT_FALSE(folder.interrupt_line());
    has_used = true;
    serve();
    EXPECT_TRUE(folder.interrupt_line());
    EXPECT_EQ(get(interrupt_status, 1), 1U);
    EXPECT_FALSE(folder.interrupt_line());
    kick(2); // there is no such queue
    EXPECT_EQ(notified.size(), 2U);
}

class FolderInit : public Folder {
protected:
    static constexpr std::uint64_t request = 0x8000;
    static constexpr std::uint64_t reply_header = 0x9000;
    static constexpr std::uint64_t reply = 0xa000;
    static constexpr std::uint64_t table = 0xb000;
    static constexpr std::uint32_t all_flags = ~0U;
    static constexpr std::uint32_t without_auto = ~(1U << 14U);

    void ask(std::uint32_t opcode) {
        ram.store(request, std::uint32_t{104});
        ram.store(request + 4, opcode);
    }
    // As Linux lays it out: header and arguments are buffers of their own.
    void send(std::uint32_t header_bytes = 16) {
        put(table, 0, request, 40, next, 1);
        put(table, 1, request + 40, 64, next, 2);
        put(table, 2, reply_header, header_bytes, next | write, 3);
        put(table, 3, reply, 64, write);
        describe(request_queue, 0, table, 64, indirect);
        offer(request_queue, 0);
        kick(request_queue);
    }
    std::uint32_t answer(std::uint64_t flags_at) {
        ram.store(flags_at, all_flags);
        has_used = true;
        serve();
        EXPECT_TRUE(folder.interrupt_line());
        get(interrupt_status, 1);
        return ram.load<std::uint32_t>(flags_at);
    }
};

TEST_F(FolderInit, PagesOfDirectoriesAlwaysHaveAttributes) {
    start();
    serve();
    ask(26);
    send();
    EXPECT_EQ(answer(reply + 12), without_auto);
    // The next answer is another request's.
    send();
    EXPECT_EQ(answer(reply + 12), all_flags);
}

TEST_F(FolderInit, TheReplyIsOneRowOfBytes) {
    start();
    serve();
    ask(26);
    send(32);
    EXPECT_EQ(answer(reply_header + 28), without_auto);
}

TEST_F(FolderInit, ADriverThatComesBackAsksAgain) {
    start();
    serve();
    ask(26);
    send();
    EXPECT_EQ(answer(reply + 12), without_auto);
    set(device_status, 1, 0);
    serve();
    ram.store(available + (request_queue * queue_stride) + 2, std::uint16_t{0});
    start();
    serve();
    send();
    EXPECT_EQ(answer(reply + 12), without_auto);
}

TEST_F(FolderInit, OtherRequestsAreLeftAlone) {
    start();
    serve();
    ask(1);
    send();
    EXPECT_EQ(answer(reply + 12), all_flags);
}

TEST_F(FolderInit, FlagsThatAreInTwoBuffersOrNowhereAreLeftAlone) {
    start();
    serve();
    ask(26);
    send(30);
    EXPECT_EQ(answer(reply_header + 28), all_flags);
    set(device_status, 1, 0);
    serve();
    ram.store(available + (request_queue * queue_stride) + 2, std::uint16_t{0});
    start();
    serve();
    put(table, 0, request, 40, next, 1);
    put(table, 1, ram_bytes, 64, write);
    describe(request_queue, 0, table, 32, indirect);
    offer(request_queue, 0);
    kick(request_queue);
    EXPECT_EQ(answer(reply + 12), all_flags);
    EXPECT_FALSE(needs_reset());
}

// A driver frees its queues as soon as the status reads 0.
TEST_F(Folder, ResetLastsUntilTheServerTouchesTheQueuesNoMore) {
    start();
    serve();
    is_settled = false;
    set(device_status, 1, 0);
    EXPECT_NE(get(device_status, 1), 0U);
    serve();
    EXPECT_EQ(ended, 1U);
    EXPECT_NE(get(device_status, 1), 0U);
    kick(request_queue);
    EXPECT_TRUE(notified.empty());
    start(); // an impatient driver
    serve();
    EXPECT_EQ(begun, 1U);
    is_settled = true;
    serve();
    EXPECT_EQ(begun, 2U);
    EXPECT_EQ(get(device_status, 1), 15U);
    set(device_status, 1, 0);
    serve();
    serve();
    EXPECT_EQ(get(device_status, 1), 0U);
    EXPECT_EQ(ended, 2U);
}

TEST_F(Folder, ServerNeedsTheBus) {
    masters_bus = false;
    start();
    serve();
    EXPECT_EQ(begun, 0U);
    masters_bus = true;
    serve();
    EXPECT_EQ(begun, 1U);
    masters_bus = false;
    serve();
    EXPECT_EQ(ended, 1U);
    EXPECT_TRUE(needs_reset());
    masters_bus = true;
    serve();
    EXPECT_EQ(begun, 1U);
}

TEST_F(Folder, QueuesOutsideRamNeedAReset) {
    accept(version_1);
    enable_queue(urgent_queue);
    set(queue_select, 2, request_queue);
    set(queue_size, 2, 1024);
    set(queue_desc, 4, ram_bytes - (std::uint64_t{1024} * 16) + 16);
    set(queue_driver, 4, available);
    set(queue_device, 4, used);
    set(queue_enable, 2, 1);
    set(device_status, 1, 15);
    serve();
    EXPECT_EQ(begun, 0U);
    EXPECT_TRUE(needs_reset());
    EXPECT_TRUE(folder.interrupt_line());
}

class HostileFolderDriver final : public HostileDriver<FolderMachine> {
public:
    explicit HostileFolderDriver(std::uint64_t seed) : HostileDriver(seed, 20) {}

    [[nodiscard]] unsigned services() const { return begun; }
    [[nodiscard]] std::size_t notices() const { return notices_; }

private:
    void step() override {
        for (unsigned i = choose(6); i != 0; --i) {
            access_registers();
        }
        if (choose(4) == 0) {
            set(queue_select, 2, choose(3));
            set(choose(2) == 0 ? queue_desc : queue_driver, 4, static_cast<std::uint32_t>(address()));
            set(queue_enable, 2, 1);
        }
        if (choose(8) == 0) {
            set(device_status, 1, 0);
            start();
        }
        ram.store((choose(ram_bytes / page) * page) + 4, std::uint32_t{26}); // FUSE_INIT
        masters_bus = choose(16) != 0;
        is_settled = !is_settled ? choose(3) == 0 : !folder.is_ending || choose(2) == 0;
        has_used = choose(2) == 0;
        set(notify, 2, choose(4));
        folder.serve(memory(), host(), masters_bus);
        notices_ += notified.size();
        notified.clear();
        start_again_if_failed();
    }

    std::size_t notices_ = 0;
};

TEST(HostileFolder, ServerGetsQueuesInRamAlone) {
    for (const std::uint64_t seed : {1U, 2U, 3U, 4U}) {
        HostileFolderDriver driver(seed);
        driver.run(20'000);
        EXPECT_GT(driver.services(), 100U); // it got that far
        EXPECT_GT(driver.notices(), 100U);
        EXPECT_GT(driver.failures(), 100U);
    }
}

} // namespace
} // namespace previrt
