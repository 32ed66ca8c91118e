// SPDX-License-Identifier: BSD-2-Clause
#include "ethernet/segment_cutter.hpp"

#include "tests/unit/ethernet/stream.hpp"

#include <gtest/gtest.h>
#include <random>

namespace previrt {

namespace {

using namespace ethernet;

std::vector<Bytes> cut_all(Bytes packet, std::uint32_t segment_bytes) {
    std::vector<Bytes> frames;
    SegmentCutter cutter;
    if (cutter.start(packet, segment_bytes)) {
        std::uint64_t bytes = 0;
        while (cutter.has_next()) {
            const std::uint32_t expected = cutter.next_bytes();
            const Frame frame = cutter.next(packet);
            EXPECT_EQ(frame.size(), expected);
            frames.emplace_back(frame.begin(), frame.end());
            bytes += expected;
        }
        EXPECT_EQ(cutter.frames(), frames.size());
        EXPECT_EQ(cutter.bytes(), bytes);
    }
    return frames;
}

// As a whole, which is no frame; its checksum may be anything.
Bytes make_packet(std::size_t bytes, std::uint8_t flags = tcp::flag_ack | tcp::flag_psh) {
    return make_segment({.flags = flags, .payload = pattern(bytes)});
}

TEST(Cutter, FramesAreAsTheirSenderWouldHaveMadeThem) {
    for (const std::size_t each : {1U, 100U, 1448U}) {
        for (const std::size_t bytes : {1U, 1447U, 1448U, 1449U, 20'000U}) {
            EXPECT_EQ(cut_all(make_packet(bytes), static_cast<std::uint32_t>(each)), make_stream(bytes, each))
                << bytes << " by " << each;
        }
    }
    EXPECT_EQ(cut_all(make_packet(65'000), 8948), make_stream(65'000, 8948));
    EXPECT_EQ(cut_all(make_packet(5000), 60'000), make_stream(5000, 60'000));
}

TEST(Cutter, FlagsAreOfTheFirstOrTheLast) {
    const auto frames =
        cut_all(make_packet(3000, tcp::flag_ack | tcp::flag_psh | tcp::flag_fin | tcp::flag_cwr), 1000);
    ASSERT_EQ(frames.size(), 3U);
    constexpr std::size_t at = transport_offset + tcp::flags;
    EXPECT_EQ(frames[0][at], tcp::flag_ack | tcp::flag_cwr);
    EXPECT_EQ(frames[1][at], tcp::flag_ack);
    EXPECT_EQ(frames[2][at], tcp::flag_ack | tcp::flag_psh | tcp::flag_fin);
}

TEST(Cutter, ATagIsInEachFrame) {
    std::vector<Bytes> expected = make_stream(5000, 1448);
    for (Bytes& frame : expected) {
        frame = with_tag(frame, 0x2007);
    }
    EXPECT_EQ(cut_all(with_tag(make_packet(5000), 0x2007), 1448), expected);
}

TEST(Cutter, WhatIsNoSegmentIsNotCut) {
    EXPECT_TRUE(cut_all(make_packet(3000), 0).empty());
    EXPECT_TRUE(cut_all(ip_frame(udp, pattern(3000)), 1448).empty());
    EXPECT_TRUE(cut_all(make_frame(card_address, 0x86dd, pattern(3000)), 1448).empty());
    EXPECT_TRUE(cut_all(make_packet(0), 1448).empty());
    EXPECT_TRUE(cut_all({}, 1448).empty());
    const Bytes good = make_packet(3000);
    const auto with = [&good](std::size_t offset, std::uint8_t value) {
        Bytes packet = good;
        packet[offset] = value;
        return packet;
    };
    EXPECT_TRUE(cut_all(with(ip_offset, 0x44), 1448).empty());
    EXPECT_TRUE(cut_all(with(ip_offset + 2, 0xff), 1448).empty()); // longer than it is
    EXPECT_TRUE(cut_all(with(ip_offset + 6, 0x20), 1448).empty()); // a fragment
    EXPECT_TRUE(cut_all(with(transport_offset + tcp::data_offset, 0x40), 1448).empty());
    Bytes headers_only = make_packet(10);
    headers_only[transport_offset + tcp::data_offset] = 0xb0; // 44 bytes, of 42
    EXPECT_TRUE(cut_all(headers_only, 1448).empty());
}

// It is in memory that others write.
TEST(Cutter, APacketThatChangesIsNeverLeft) {
    std::mt19937 random(1);
    for (unsigned times = 0; times < 20'000; ++times) {
        Bytes packet = make_packet(1 + (random() % 3000));
        const auto change = [&] {
            for (unsigned i = random() % 8; i > 0; --i) {
                packet[random() % std::min<std::size_t>(packet.size(), 80)] =
                    static_cast<std::uint8_t>(random());
            }
        };
        change();
        SegmentCutter cutter;
        if (cutter.start(packet, static_cast<std::uint32_t>(random() % 1600))) {
            std::uint64_t bytes = 0;
            while (cutter.has_next()) {
                change();
                const Frame frame = cutter.next(packet); // ASan looks
                ASSERT_GE(frame.data(), packet.data());
                ASSERT_LE(frame.data() + frame.size(), packet.data() + packet.size());
                bytes += frame.size();
            }
            ASSERT_EQ(bytes, cutter.bytes());
        }
    }
}

} // namespace

} // namespace previrt
