// SPDX-License-Identifier: BSD-2-Clause
#include "tests/unit/devices/virtio/vsock_machine.hpp"

#include <gtest/gtest.h>

namespace previrt {
namespace {

class Vsock : public testing::Test, protected VsockMachine {
protected:
    // As Linux 6.1: a descriptor for the header, one for the payload.
    void give_buffers(unsigned count, std::uint32_t bytes = page) {
        for (unsigned i = 0; i < count; ++i) {
            const auto first = static_cast<std::uint16_t>(2 * i);
            describe(receive_queue, first, headers + (i * std::uint64_t{64}), vsock::header_bytes,
                     write | next, static_cast<std::uint16_t>(first + 1));
            describe(receive_queue, static_cast<std::uint16_t>(first + 1),
                     payloads + (std::uint64_t{i} * 2 * page), bytes, write);
            offer(receive_queue, first);
        }
    }
    void send_packet(const Packet& packet) {
        store(headers, packet);
        describe(transmit_queue, 0, headers, vsock::header_bytes, next, 1);
        describe(transmit_queue, 1, headers + vsock::header_bytes,
                 static_cast<std::uint32_t>(packet.size() - vsock::header_bytes));
        offer(transmit_queue, 0);
    }
    std::uint32_t written(unsigned entry) {
        return ram.load<std::uint32_t>(used + (receive_queue * queue_stride) + 8 +
                                       (std::uint64_t{8} * entry));
    }

    static Packet part(const Packet& packet, std::ptrdiff_t first, std::ptrdiff_t bytes) {
        return {packet.begin() + first, packet.begin() + first + bytes};
    }

    static constexpr std::uint64_t headers = 8 * page;
    static constexpr std::uint64_t payloads = 32 * page;
};

TEST_F(Vsock, FunctionAndRegistersAreThoseOfTheSpecification) {
    Pci pci;
    const PciFunction* const function = VirtioVsock::add_function(pci, 2);
    ASSERT_NE(function, nullptr);
    EXPECT_EQ(function->read(0, 4), 0x1053'1af4U);
    EXPECT_EQ(get(device_feature, 4), 1U | 1U << 28U);
    EXPECT_EQ(get(num_queues, 2), 3U);
    EXPECT_EQ(get(0x40, 4), 3U); // the CID
    EXPECT_EQ(get(0x44, 4), 1U);
    EXPECT_EQ(refused, 0U);
    EXPECT_FALSE(vsock.read(0x40, 2));
    EXPECT_FALSE(vsock.read(0x48, 4));
    EXPECT_FALSE(vsock.write(0x40, 4, 5));
}

TEST_F(Vsock, PacketsReachTheHost) {
    start();
    send_packet(packet(100));
    EXPECT_TRUE(sent.empty());
    kick(transmit_queue);
    EXPECT_EQ(sent, std::vector<Packet>{packet(100)});
    EXPECT_EQ(used_index(transmit_queue), 1U);
    EXPECT_TRUE(vsock.interrupt_line());
    EXPECT_EQ(get(interrupt_status, 1), 1U);
    send_packet(packet(0)); // Linux sends a header alone in one descriptor; an empty one behind it is no more
    kick(transmit_queue);
    EXPECT_EQ(sent.back(), packet(0));
    EXPECT_FALSE(needs_reset());
}

TEST_F(Vsock, PiecesOfAPacketMayLieAnywhere) {
    start();
    const Packet whole = packet(3000);
    constexpr std::uint64_t table = 0x8000;
    std::uint32_t done = 0;
    std::uint16_t count = 0;
    for (const std::uint32_t bytes : {1U, 42U, 2U, 0U, 2000U, 999U}) {
        if (bytes != 0) {
            store((40 * page) + (std::uint64_t{4096} * count) + 1, part(whole, done, bytes));
        }
        put(table, count, (40 * page) + (std::uint64_t{4096} * count) + 1, bytes, next,
            static_cast<std::uint16_t>(count + 1));
        done += bytes;
        ++count;
    }
    ASSERT_EQ(done, whole.size());
    put(table, static_cast<std::uint16_t>(count - 1), (40 * page) + (std::uint64_t{4096} * (count - 1)) + 1,
        999);
    describe(transmit_queue, 3, table, 16U * count, indirect);
    offer(transmit_queue, 3);
    kick(transmit_queue);
    EXPECT_EQ(sent, std::vector<Packet>{whole});
}

TEST_F(Vsock, PacketsWaitForRoomAtTheHost) {
    room_for = 1;
    start();
    send_packet(packet(10));
    describe(transmit_queue, 2, headers, vsock::header_bytes + 10);
    offer(transmit_queue, 2);
    kick(transmit_queue);
    EXPECT_EQ(sent.size(), 1U);
    EXPECT_EQ(used_index(transmit_queue), 1U);
    serve();
    EXPECT_EQ(sent.size(), 1U);
    room_for = 2;
    serve(); // without a notification
    EXPECT_EQ(sent, (std::vector<Packet>{packet(10), packet(10)}));
    EXPECT_EQ(used_index(transmit_queue), 2U);
}

TEST_F(Vsock, PacketsReachTheDriver) {
    start();
    give_buffers(4);
    kick(receive_queue);
    EXPECT_EQ(used_index(receive_queue), 0U);
    for_guest.push_back(packet(200));
    for_guest.push_back(packet(0));
    serve(); // without a notification
    EXPECT_EQ(used_index(receive_queue), 2U);
    EXPECT_TRUE(for_guest.empty());
    EXPECT_EQ(written(0), vsock::header_bytes + 200U);
    EXPECT_EQ(written(1), vsock::header_bytes);
    EXPECT_EQ(load(headers, vsock::header_bytes), part(packet(200), 0, 44));
    EXPECT_EQ(load(payloads, 200), part(packet(200), 44, 200));
    EXPECT_TRUE(vsock.interrupt_line());
}

TEST_F(Vsock, LongPayloadsAreCutToTheDriversBuffers) {
    start();
    give_buffers(2);
    const Packet whole = packet(10'000);
    for_guest.push_back(whole);
    serve();
    EXPECT_EQ(used_index(receive_queue), 2U);
    EXPECT_EQ(for_guest.size(), 1U); // a part is still to come
    EXPECT_EQ(header_of(load(headers, 44)).len, 4096U);
    EXPECT_EQ(header_of(load(headers + 64, 44)).len, 4096U);
    EXPECT_EQ(load(payloads + (2 * page), 4096),
              Packet(whole.begin() + 44 + 4096, whole.begin() + 44 + 8192));
    offer(receive_queue, 0);
    serve();
    EXPECT_TRUE(for_guest.empty());
    vsock::Header last = header(10'000);
    last.len = 10'000 - 8192;
    EXPECT_EQ(std::memcmp(ram.at(headers, 44), &last, sizeof last), 0);
    EXPECT_EQ(load(payloads, 1808), Packet(whole.end() - 1808, whole.end()));
}

TEST_F(Vsock, NextDriverGetsWholePackets) {
    start();
    give_buffers(1);
    for_guest.push_back(packet(5000));
    serve();
    set(device_status, 1, 0);
    ram.store<std::uint16_t>(available + 2, 0);
    start();
    give_buffers(1);
    serve();
    EXPECT_EQ(header_of(load(headers, 44)).len, 4096U);
    EXPECT_EQ(load(payloads, 4096), part(packet(5000), 44, 4096));
}

TEST_F(Vsock, BrokenPacketsOfTheHostAreDropped) {
    start();
    give_buffers(1);
    for_guest.emplace_back(43);
    for_guest.emplace_back(vsock::longest_packet + 1);
    for_guest.push_back(packet(1));
    serve();
    EXPECT_EQ(used_index(receive_queue), 1U);
    EXPECT_EQ(written(0), 45U);
}

TEST_F(Vsock, NothingMovesBeforeItIsRunning) {
    accept(all_features);
    enable_queue(receive_queue);
    enable_queue(transmit_queue);
    give_buffers(1);
    send_packet(packet(1));
    for_guest.push_back(packet(1));
    kick(transmit_queue);
    EXPECT_TRUE(sent.empty());
    EXPECT_EQ(for_guest.size(), 1U);
    set(device_status, 1, 15);
    kick(transmit_queue);
    EXPECT_EQ(sent.size(), 1U);
    EXPECT_TRUE(for_guest.empty());
}

TEST_F(Vsock, EventsAreNeverReported) {
    start();
    describe(event_queue, 0, payloads, 4, write);
    offer(event_queue, 0);
    kick(event_queue);
    EXPECT_EQ(used_index(event_queue), 0U);
    EXPECT_EQ(vsock.transport.notified, 0U);
    EXPECT_FALSE(needs_reset());
}

// Buffers that cannot be: the device says so, and does nothing more until its reset.
class BrokenVsock : public Vsock, public testing::WithParamInterface<unsigned> {};

TEST_P(BrokenVsock, NeedsAReset) {
    start();
    give_buffers(1);
    send_packet(packet(100));
    std::uint16_t queue = transmit_queue;
    switch (GetParam()) {
    case 0: // no whole header
        describe(queue, 0, headers, 43);
        break;
    case 1: // less than the header says
        describe(queue, 1, headers + 44, 99);
        break;
    case 2: // more than there can be
        store(headers, packet(0));
        ram.store<std::uint32_t>(headers + 24, vsock::most_payload + 1);
        break;
    case 3:
        ram.store<std::uint32_t>(headers + 24, 0xffff'ffff);
        break;
    case 4: // not to be read
        describe(queue, 1, headers + 44, 100, write);
        break;
    case 5: // outside RAM
        describe(queue, 1, ram_bytes - 50, 100);
        break;
    case 6:
        describe(queue, 1, ~std::uint64_t{0} - 50, 100);
        break;
    default:
        queue = receive_queue;
        for_guest.push_back(packet(100));
    }
    switch (GetParam()) {
    case 7: // no room for a header
        describe(queue, 0, headers, 43, write);
        break;
    case 8: // none for a payload
        describe(queue, 0, headers, 44, write);
        break;
    case 9: // not to be written
        describe(queue, 1, payloads, 100);
        break;
    case 10: // outside RAM
        describe(queue, 0, ram_bytes - 20, 44, write | next, 1);
        break;
    default:
        break;
    }
    kick(queue);
    EXPECT_TRUE(needs_reset());
    EXPECT_TRUE(sent.empty());
    EXPECT_EQ(used_index(queue), 0U);
    kick(transmit_queue);
    EXPECT_TRUE(sent.empty());
}
INSTANTIATE_TEST_SUITE_P(All, BrokenVsock, testing::Range(0U, 11U));

} // namespace
} // namespace previrt
