// SPDX-License-Identifier: BSD-2-Clause
// The card between the guest's memory and the back-end's packets.
#include "frontends/x86/devices/network.hpp"

#include "devices/dp83820/registers.hpp"
#include "ethernet/ipv4_packet.hpp"
#include "ethernet/segment_cutter.hpp"
#include "frontends/x86/devices/device_memory.hpp"
#include "frontends/x86/devices/machine.hpp"
#include "frontends/x86/devices/sent_packets.hpp"
#include "inplace-vmm/backend/events.hpp"
#include "inplace-vmm/backend/memory.hpp"
#include "inplace-vmm/backend/packets.hpp"
#include "inplace-vmm/backend/time.hpp"
#include "inplace-vmm/counters.hpp"
#include "tests/unit/ethernet/stream.hpp"
#include "tests/unit/vmm/fake_backend.hpp"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>

namespace previrt {

namespace {

using namespace dp83820;

constexpr std::uint64_t ram_bytes = 4ULL << 20U;
constexpr std::uint32_t sent_list = 0x1000;
constexpr std::uint32_t received_list = 0x2000;
constexpr std::uint32_t buffers = 0x10000;
constexpr std::uint32_t descriptor_bytes = 32;
constexpr std::uint32_t buffer_bytes = 2048;

fake::Packet make_packet(std::uint8_t first, std::size_t bytes) {
    fake::Packet packet(bytes);
    for (std::size_t i = 0; i < bytes; ++i) {
        packet[i] = static_cast<std::uint8_t>(first + i);
    }
    std::memset(packet.data(), 0xff, 6); // to all
    packet[12] = 0x12;
    packet[13] = 0x34;
    return packet;
}

// A guest that drives the card with 32-bit descriptors, where its firmware has put it.
class Network : public testing::Test {
protected:
    void SetUp() override {
        fake::start(ram_bytes, 64);
        pc.start(0, ram_bytes, 0);
        fake::host.network.address = backend::NetworkAddress{0x52, 0x54, 0, 1, 2, 3};
        insert_network_card();
        take_events();
        write_command(7);
        write(at::cfg, cfg_mode_1000);
        write(at::rxcfg, rxcfg_stripcrc);
        write(at::imr, isr_rxok | isr_txok);
        write(at::ier, 1);
    }

    static void write(std::uint32_t offset, std::uint32_t value) {
        write_device(Pc::network_memory + offset, &value, sizeof value);
    }
    static std::uint32_t read(std::uint32_t offset) {
        std::uint32_t value = 0;
        read_device(Pc::network_memory + offset, &value, sizeof value);
        return value;
    }
    // Of the function's configuration space: I/O 1, memory 2, bus master 4.
    static void write_command(std::uint32_t value) {
        ASSERT_TRUE(pc.write(0xcf8, 4, 0x8000'0004 | (Pc::network_device << 11U), 0));
        ASSERT_TRUE(pc.write(0xcfc, 2, value, 0));
    }

    static void store(std::uint32_t address, std::uint32_t value) {
        std::memcpy(backend::guest_ram() + address, &value, sizeof value);
    }
    static std::uint32_t load(std::uint32_t address) {
        std::uint32_t value = 0;
        std::memcpy(&value, backend::guest_ram() + address, sizeof value);
        return value;
    }
    static void describe(std::uint32_t list, unsigned number, std::uint32_t link, std::uint32_t cmdsts) {
        const std::uint32_t place = list + (number * descriptor_bytes);
        store(place, link);
        store(place + 4, buffers + ((list == received_list ? 64 + number : number) * buffer_bytes));
        store(place + 8, cmdsts);
    }

    static void queue(const std::vector<fake::Packet>& packets) {
        for (unsigned i = 0; i < packets.size(); ++i) {
            std::memcpy(backend::guest_ram() + buffers + (std::size_t{i} * buffer_bytes), packets[i].data(),
                        packets[i].size());
            const std::uint32_t link = i + 1 < packets.size() ? sent_list + ((i + 1) * descriptor_bytes) : 0;
            describe(sent_list, i, link, cmdsts_own | static_cast<std::uint32_t>(packets[i].size()));
        }
        write(at::txdp, sent_list);
    }
    static void open_receiver(unsigned slots) {
        for (unsigned i = 0; i < slots; ++i) {
            describe(received_list, i, i + 1 < slots ? received_list + ((i + 1) * descriptor_bytes) : 0,
                     buffer_bytes - 8);
        }
        write(at::rfcr, 0xffc0'0000); // enabled, all that there is
        write(at::rxdp, received_list);
        write(at::cr, cr_rxe);
    }
    static fake::Packet received(unsigned number) {
        const std::uint32_t bytes = load(received_list + (number * descriptor_bytes) + 8) & 0xffffU;
        const std::uint8_t* const from =
            backend::guest_ram() + buffers + (std::size_t{64 + number} * buffer_bytes);
        return {from, from + std::min(bytes, buffer_bytes)};
    }
    static bool is_received(unsigned number) {
        return (load(received_list + (number * descriptor_bytes) + 8) & cmdsts_own) != 0;
    }
};

TEST_F(Network, SendsAllThatIsQueuedWithOneCall) {
    const std::vector<fake::Packet> packets = {make_packet(1, 60), make_packet(2, 1514), make_packet(3, 777)};
    queue(packets);
    EXPECT_TRUE(fake::host.network.sent.empty());
    write(at::cr, cr_txe);
    EXPECT_EQ(fake::host.network.sent, packets);
    EXPECT_EQ(fake::host.network.calls, 1U);
    EXPECT_TRUE(pc.pic.pending(Pc::network_irq));
    EXPECT_NE(read(at::isr) & isr_txok, 0U);
    EXPECT_FALSE(pc.pic.pending(Pc::network_irq));
}

TEST_F(Network, ReceivesAllThatHasComeWithOneInterrupt) {
    open_receiver(8);
    const std::vector<fake::Packet> packets = {make_packet(4, 60), make_packet(5, 1500)};
    fake::host.network.received.assign(packets.begin(), packets.end());
    take_events();
    EXPECT_TRUE(fake::host.network.received.empty());
    EXPECT_TRUE(pc.pic.pending(Pc::network_irq));
    ASSERT_TRUE(is_received(0) && is_received(1));
    EXPECT_EQ(received(0), packets[0]);
    EXPECT_EQ(received(1), packets[1]);
    EXPECT_FALSE(is_received(2));
}

TEST_F(Network, WhatHasNoRoomWaitsOnItsSide) {
    const std::vector<fake::Packet> packets = {make_packet(1, 60), make_packet(2, 60), make_packet(3, 60)};
    fake::host.network.room = 1;
    queue(packets);
    write(at::cr, cr_txe);
    EXPECT_EQ(fake::host.network.sent.size(), 1U);
    fake::host.network.room = 3;
    take_events();
    EXPECT_EQ(fake::host.network.sent, packets);

    open_receiver(1);
    constexpr unsigned many = 60; // of 1500 bytes: more than the FIFO holds
    for (unsigned i = 0; i < many; ++i) {
        fake::host.network.received.push_back(make_packet(static_cast<std::uint8_t>(i), 1500));
    }
    take_events();
    const std::size_t waiting = fake::host.network.received.size();
    EXPECT_GT(waiting, 30U);
    EXPECT_LT(waiting, many);
    EXPECT_EQ(pc.network.statistics.lost_no_room, 0U);
    for (unsigned i = 0; i < many; ++i) { // the guest makes room, one slot at a time
        ASSERT_TRUE(is_received(0)) << i;
        EXPECT_TRUE(received(0) == make_packet(static_cast<std::uint8_t>(i), 1500)) << i;
        open_receiver(1);
    }
    EXPECT_TRUE(fake::host.network.received.empty());
}

// A flood: programs get as much time as the driver took.
class Flood : public Network {
protected:
    static constexpr std::uint64_t took = 300'000;

    void SetUp() override {
        Network::SetUp();
        pc.rest_processor(false);
        open_receiver(2);
        for (unsigned i = 0; i < 10; ++i) {
            fake::host.network.received.push_back(make_packet(static_cast<std::uint8_t>(i), 60));
        }
        take_events();
        EXPECT_EQ(waiting(), 8U);
        read(at::isr);
        fake::host.now += took;
        open_receiver(2);
    }
    void TearDown() override {
        pc.rest_processor(true);
        take_events();
    }
    static std::size_t waiting() { return fake::host.network.received.size(); }
};

TEST_F(Flood, WaitsWhileTheProcessorIsBusy) {
    EXPECT_EQ(waiting(), 8U);
    const std::uint64_t end = fake::host.now + took;
    while (waiting() == 8) {
        ASSERT_TRUE(fake::host.timer);
        ASSERT_GT(*fake::host.timer, fake::host.now);
        ASSERT_LE(*fake::host.timer, end);
        fake::host.now = *fake::host.timer;
        take_events();
    }
    EXPECT_EQ(fake::host.now, end);
    EXPECT_EQ(waiting(), 6U);
    EXPECT_EQ(pc.network.statistics.waited_frames, 0U);
}

TEST_F(Flood, ComesToAProcessorThatRests) {
    pc.rest_processor(true);
    take_events();
    EXPECT_EQ(waiting(), 6U);
}

// Otherwise the end of the pause would stay the next event. Once it has passed, each timer for it expires
// before the guest's next instruction.
TEST_F(Flood, EndsWithTheMasteringOfTheBus) {
    ASSERT_TRUE(packets_due());
    write_command(3);
    take_events();
    EXPECT_EQ(waiting(), 0U);
    EXPECT_FALSE(packets_due());
}

TEST_F(Network, OneThatDoesNotMasterTheBusMovesNothing) {
    write_command(3);
    queue({make_packet(1, 60)});
    write(at::cr, cr_txe);
    EXPECT_TRUE(fake::host.network.sent.empty());
    open_receiver(1);
    fake::host.network.received.push_back(make_packet(2, 60));
    take_events();
    EXPECT_TRUE(fake::host.network.received.empty()); // nobody waits for an old packet
    EXPECT_FALSE(is_received(0));
    write_command(7);
    take_events();
    EXPECT_EQ(fake::host.network.sent.size(), 1U);
}

TEST_F(Network, ItsLineIsThePciFunctionsToStop) {
    write_command(7 | 0x400); // interrupts disabled
    queue({make_packet(1, 60)});
    write(at::cr, cr_txe);
    EXPECT_EQ(fake::host.network.sent.size(), 1U);
    EXPECT_FALSE(pc.pic.pending(Pc::network_irq));
    write_command(7);
    take_events();
    EXPECT_TRUE(pc.pic.pending(Pc::network_irq));
}

TEST_F(Network, TheLinkIsThatOfTheNetwork) {
    EXPECT_NE(read(at::cfg) & cfg_lnksts, 0U);
    write(at::cfg, cfg_mode_1000 | cfg_pint_lnksts);
    write(at::imr, isr_phy);
    fake::host.network.is_up = false;
    take_events();
    EXPECT_TRUE(pc.pic.pending(Pc::network_irq));
    EXPECT_NE(read(at::isr) & isr_phy, 0U);
    EXPECT_EQ(read(at::cfg) & cfg_lnksts, 0U);
    queue({make_packet(1, 60)});
    write(at::cr, cr_txe);
    EXPECT_TRUE(fake::host.network.sent.empty());
    EXPECT_EQ(pc.network.statistics.unsent_link_down, 1U);
    fake::host.network.is_up = true;
    take_events();
    EXPECT_NE(read(at::cfg) & cfg_lnksts, 0U);
}

TEST_F(Network, RegistersAreWhereTheFunctionSaysAndOnlyThere) {
    EXPECT_EQ(pc.read(Pc::network_ports + at::imr, 4, fake::host.now), isr_rxok | isr_txok);
    EXPECT_FALSE(
        pc.read_memory({.processor = 0, .address = Pc::network_memory + 0x1000, .width = 4}, fake::host.now)
            .has_value());
    EXPECT_FALSE(
        pc.read_memory({.processor = 0, .address = Pc::network_memory + at::imr, .width = 2}, fake::host.now)
            .has_value());
    write_command(4);
    EXPECT_FALSE(
        pc.read_memory({.processor = 0, .address = Pc::network_memory + at::imr, .width = 4}, fake::host.now)
            .has_value());
}

TEST_F(Network, ABufferThatLeadsOutOfRamIsABusFault) {
    open_receiver(1);
    store(received_list + 4, static_cast<std::uint32_t>(ram_bytes) - 64); // leads out of RAM
    fake::host.network.received.push_back(make_packet(2, 1500));
    take_events();
    EXPECT_TRUE(fake::host.network.received.empty());
    EXPECT_EQ(pc.network.statistics.bus_faults, 1U);
}

// A stream by descriptors that ask for checksums, as Linux's driver does.
class Stream : public Network {
protected:
    void SetUp() override {
        Network::SetUp();
        write(at::cfg, cfg_mode_1000 | cfg_extsts_en);
        write(at::vtcr, vtcr_ppchk);
        write(at::vrcr, vrcr_ipen);
        fake::host.network.finishes_packets = true;
        fake::host.network.room_bytes = 80'000;
    }
    static void queue_stream(const std::vector<Bytes>& frames) {
        queue({frames.begin(), frames.end()});
        for (unsigned i = 0; i < frames.size(); ++i) {
            store(sent_list + (i * descriptor_bytes) + 12, extsts_ippkt | extsts_tcppkt);
        }
        write(at::cr, cr_txe);
    }
    // What the other end makes of what was sent.
    static std::vector<Bytes> finished() {
        std::vector<Bytes> frames;
        for (std::size_t i = 0; i < fake::host.network.sent.size(); ++i) {
            Bytes packet = fake::host.network.sent[i];
            const ethernet::Unfinished left = fake::host.network.left[i];
            ethernet::SegmentCutter cutter;
            if (left.segment_bytes != 0 && cutter.start(packet, left.segment_bytes)) {
                while (cutter.has_next()) {
                    const ethernet::Frame frame = cutter.next(packet);
                    frames.emplace_back(frame.begin(), frame.end());
                }
                continue;
            }
            EXPECT_EQ(left.segment_bytes, 0);
            if (left.checksum_start != 0) {
                ethernet::finish_checksum(packet);
            }
            frames.push_back(packet);
        }
        return frames;
    }
    static void give(const Bytes& packet, std::uint16_t segment_bytes, bool lacks_checksum) {
        fake::host.network.received.push_back(packet);
        fake::host.network.states.push_back({.bytes = {},
                                             .segment_bytes = segment_bytes,
                                             .lacks_checksum = lacks_checksum,
                                             .is_verified = false});
    }
    static std::uint32_t extsts_of(unsigned number) {
        return load(received_list + (number * descriptor_bytes) + 12);
    }
};

TEST_F(Stream, GoesAsOnePacketToWhoCutsIt) {
    const std::vector<Bytes> frames = make_stream(20'000, 1448);
    queue_stream(frames);
    EXPECT_EQ(fake::host.network.sent.size(), 1U);
    EXPECT_EQ(finished(), frames);
    EXPECT_EQ(counters.packets_sent, frames.size());
    EXPECT_EQ(pc.network.statistics.sent_frames, frames.size());
}

TEST_F(Stream, GoesInFramesToWhoDoesNot) {
    fake::host.network.finishes_packets = false;
    const std::vector<Bytes> frames = make_stream(20'000, 1448);
    queue_stream(frames);
    EXPECT_EQ(fake::host.network.sent, frames);
    EXPECT_TRUE(std::ranges::all_of(fake::host.network.left, [](const ethernet::Unfinished& left) {
        return left.checksum_start == 0 && left.segment_bytes == 0;
    }));
}

TEST_F(Stream, WhatDoesNotBelongToItKeepsItsPlace) {
    std::vector<Bytes> frames = make_stream(6000, 1448);
    const std::vector<Bytes> others = make_stream(4000, 1000, {.sequence = 77, .payload = {}});
    frames.insert(frames.begin() + 2, others[0]);
    frames.insert(frames.begin() + 3, plain_frame(60));
    frames.insert(frames.begin() + 4, others[1]);
    queue_stream(frames);
    EXPECT_EQ(finished(), frames);
    EXPECT_LT(fake::host.network.sent.size(), frames.size());
}

TEST_F(Stream, WhatDoesNotBelongToItWaitsForRoom) {
    std::vector<Bytes> frames = make_stream(4000, 1448);
    frames.pop_back(); // it is open, and
    const std::vector<Bytes> others = make_stream(4000, 1000, {.sequence = 77, .payload = {}});
    frames.insert(frames.end(), others.begin(), others.end());
    fake::host.network.room = 1;
    queue_stream(frames);
    EXPECT_EQ(fake::host.network.sent.size(), 1U);
    fake::host.network.room = 2;
    take_events();
    EXPECT_EQ(fake::host.network.sent.size(), 2U);
    fake::host.network.room = 100;
    take_events();
    EXPECT_EQ(finished(), frames);
    EXPECT_EQ(counters.packets_sent, frames.size());
}

// A frame at a time, as Linux gives them to the card, in a ring, by a processor that has more to do.
class WaitingFrames : public Stream {
protected:
    void SetUp() override {
        Stream::SetUp();
        for (unsigned i = 0; i < slots; ++i) {
            describe(sent_list, i, sent_list + ((i + 1) % slots * descriptor_bytes), 0);
        }
        write(at::txdp, sent_list);
        pc.rest_processor(false);
    }
    void TearDown() override { rest(); } // what waits is no other test's
    static void rest() {
        pc.rest_processor(true);
        take_events();
    }
    void give_card(const Bytes& frame) {
        const unsigned slot = given_++ % slots;
        const std::uint32_t place = sent_list + (slot * descriptor_bytes);
        std::memcpy(backend::guest_ram() + buffers + (std::size_t{slot} * buffer_bytes), frame.data(),
                    frame.size());
        store(place + 12, extsts_ippkt | extsts_tcppkt);
        store(place + 8, cmdsts_own | static_cast<std::uint32_t>(frame.size()));
        write(at::cr, cr_txe);
    }
    void give_card(std::span<const Bytes> frames) {
        for (const Bytes& frame : frames) {
            give_card(frame);
        }
    }
    static void wait_for_timer() {
        ASSERT_TRUE(fake::host.timer);
        ASSERT_GT(*fake::host.timer, fake::host.now);
        fake::host.now = *fake::host.timer;
        take_events();
    }
    static constexpr unsigned slots = 64;
    static constexpr unsigned together = 32;
    const std::vector<Bytes> stream = make_stream(50'000, 1448);

private:
    unsigned given_ = 0;
};

TEST_F(WaitingFrames, GoTogether) {
    std::vector<Bytes> frames;
    for (std::uint8_t i = 0; i < together; ++i) {
        EXPECT_TRUE(fake::host.network.sent.empty());
        frames.push_back(plain_frame(60U + i));
        give_card(frames.back());
    }
    EXPECT_EQ(fake::host.network.sent, frames);
    EXPECT_EQ(fake::host.network.calls, 1U);
    EXPECT_FALSE(transmission_due());
}

TEST_F(WaitingFrames, GoWhenNothingFollows) {
    give_card(plain_frame(60));
    fake::host.now += 50'000;
    give_card(plain_frame(61));
    EXPECT_TRUE(fake::host.network.sent.empty());
    wait_for_timer();
    EXPECT_EQ(fake::host.now, 100'000U);
    EXPECT_EQ(fake::host.network.sent.size(), 2U);
    EXPECT_EQ(fake::host.network.calls, 1U);
    EXPECT_FALSE(transmission_due());
}

TEST_F(WaitingFrames, GoWhenTheGuestRests) {
    give_card(plain_frame(60));
    rest();
    EXPECT_EQ(fake::host.network.sent.size(), 1U);
    EXPECT_FALSE(transmission_due());
    give_card(plain_frame(60)); // and at once while it does
    EXPECT_EQ(fake::host.network.sent.size(), 2U);
}

TEST_F(WaitingFrames, GoWhenThereIsRoom) {
    fake::host.network.room = 1;
    for (unsigned i = 0; i < together; ++i) {
        give_card(plain_frame(60));
    }
    EXPECT_EQ(fake::host.network.sent.size(), 1U);
    EXPECT_FALSE(transmission_due()); // who makes room says so
    fake::host.network.room = 100;
    take_events();
    EXPECT_EQ(fake::host.network.sent.size(), together);
}

TEST_F(WaitingFrames, AreNotSentOnceTheCardIsReset) {
    give_card(plain_frame(60));
    write(at::cr, cr_rst);
    EXPECT_FALSE(transmission_due());
    rest();
    EXPECT_TRUE(fake::host.network.sent.empty());
}

TEST_F(WaitingFrames, OfAStreamGoWithItsLast) {
    for (const Bytes& frame : stream) {
        EXPECT_TRUE(fake::host.network.sent.empty());
        fake::host.now += 3'000;
        give_card(frame);
    }
    wait_for_timer();
    EXPECT_EQ(fake::host.network.sent.size(), 1U);
    EXPECT_EQ(finished(), stream);
}

TEST_F(WaitingFrames, OfAStreamStayWhileMoreComes) {
    for (unsigned i = 0; i + 1 < stream.size(); ++i) {
        fake::host.now += 90'000;
        take_events();
        give_card(stream[i]);
    }
    EXPECT_TRUE(fake::host.network.sent.empty());
}

TEST_F(WaitingFrames, OfAStreamGoWhenNothingFollows) {
    give_card(std::span(stream).first(2));
    while (fake::host.network.sent.empty()) {
        wait_for_timer();
    }
    EXPECT_EQ(fake::host.now, 200'000U);
    EXPECT_EQ(finished(), std::vector<Bytes>(stream.begin(), stream.begin() + 2));
    EXPECT_EQ(fake::host.network.calls, 1U);
}

TEST_F(WaitingFrames, OfAStreamGoBeforeAnotherPacket) {
    give_card(std::span(stream).first(2));
    give_card(plain_frame(60));
    wait_for_timer();
    ASSERT_EQ(fake::host.network.sent.size(), 2U);
    EXPECT_EQ(fake::host.network.sent[1], plain_frame(60));
}

TEST_F(WaitingFrames, OfAStreamGoWhenTheCardIsSwitchedOff) {
    give_card(std::span(stream).first(together));
    EXPECT_TRUE(fake::host.network.sent.empty());
    write_command(0);
    take_events();
    EXPECT_EQ(fake::host.network.sent.size(), 1U);
    EXPECT_FALSE(transmission_due());
}

TEST_F(Stream, ComesInFrames) {
    const std::vector<Bytes> frames = make_stream(20'000, 1448);
    open_receiver(32);
    give(make_segment({.flags = 0x18, .payload = pattern(20'000)}), 1448, true);
    take_events();
    EXPECT_TRUE(fake::host.network.received.empty());
    for (unsigned i = 0; i < frames.size(); ++i) {
        ASSERT_TRUE(is_received(i));
        EXPECT_EQ(received(i), frames[i]) << i;
        EXPECT_EQ(extsts_of(i), extsts_ippkt | extsts_tcppkt);
    }
}

TEST_F(Stream, ComesAsFarAsThereIsRoom) {
    const std::vector<Bytes> frames = make_stream(60'000, 1448);
    open_receiver(1);
    give(make_segment({.flags = 0x18, .payload = pattern(60'000)}), 1448, true);
    give(plain_frame(100), 0, false);
    take_events();
    EXPECT_EQ(fake::host.network.received.size(), 2U);
    for (unsigned i = 0; i < frames.size(); ++i) {
        ASSERT_TRUE(is_received(0)) << i;
        ASSERT_EQ(received(0), frames[i]) << i;
        open_receiver(1);
    }
    ASSERT_TRUE(is_received(0));
    EXPECT_EQ(received(0), plain_frame(100));
    EXPECT_EQ(counters.packets_received, frames.size() + 1);
}

TEST_F(Stream, AMissingChecksumIsFilledIn) {
    const Bytes frame = make_segment({.payload = pattern(999)});
    open_receiver(2);
    give(without_checksum(frame), 0, true);
    give(without_checksum(frame), 0, false);
    take_events();
    EXPECT_EQ(received(0), frame);
    EXPECT_EQ(extsts_of(0), extsts_ippkt | extsts_tcppkt);
    EXPECT_EQ(extsts_of(1), extsts_ippkt | extsts_tcppkt | extsts_tcperr);
}

// Behind a packet that is being cut there is a guest that goes away.
TEST_F(Stream, EndsWithItsBusMaster) {
    open_receiver(1);
    give(make_segment({.flags = 0x18, .payload = pattern(60'000)}), 1448, true);
    take_events();
    write_command(3);
    take_events();
    EXPECT_TRUE(fake::host.network.received.empty());
    write_command(7);
    write(at::cr, cr_rxr);
    open_receiver(4);
    give(make_segment({.flags = 0x18, .payload = pattern(2000)}), 1448, true);
    take_events();
    EXPECT_EQ(received(0), make_stream(2000, 1448)[0]);
}

TEST(NetworkCard, IsThereWhereTheBackEndCarriesPackets) {
    fake::start(ram_bytes, 64);
    pc.start(0, ram_bytes, 0);
    insert_network_card();
    EXPECT_FALSE(pc.has_network); // no network
    EXPECT_FALSE(pc.read_memory({.processor = 0, .address = Pc::network_memory, .width = 4}, fake::host.now)
                     .has_value());
}

} // namespace

} // namespace previrt
