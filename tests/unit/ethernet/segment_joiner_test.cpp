// SPDX-License-Identifier: BSD-2-Clause
#include "ethernet/segment_joiner.hpp"

#include "ethernet/segment_cutter.hpp"
#include "tests/unit/ethernet/stream.hpp"

#include <algorithm>
#include <functional>
#include <gtest/gtest.h>

namespace previrt {

namespace {

using namespace ethernet;

constexpr std::uint32_t frame_room = 9220;

class Joiner : public testing::Test {
protected:
    SegmentJoiner begin(const Bytes& frame, const Unfinished& left = left_checksum) {
        std::ranges::copy(frame, room.begin());
        return {room, static_cast<std::uint32_t>(frame.size()), left};
    }
    static bool append(SegmentJoiner& joiner, const Bytes& frame, const Unfinished& left = left_checksum) {
        const std::span<std::uint8_t> place = joiner.next(frame_room);
        if (place.empty()) {
            return false;
        }
        std::ranges::copy(frame, place.begin());
        const bool joined = joiner.append(static_cast<std::uint32_t>(frame.size()), left);
        if (!joined) {
            joiner.restore();
        }
        return joined;
    }
    std::vector<Bytes> cut(SegmentJoiner& joiner) {
        const Unfinished left = joiner.finish();
        const std::span packet = std::span(room).first(joiner.bytes());
        std::vector<Bytes> frames;
        SegmentCutter cutter;
        EXPECT_TRUE(cutter.start(packet, left.segment_bytes));
        while (cutter.has_next()) {
            const Frame frame = cutter.next(packet);
            frames.emplace_back(frame.begin(), frame.end());
        }
        return frames;
    }

    Bytes room = Bytes(80'000, 0xcc);
};

TEST_F(Joiner, WhatIsJoinedIsCutIntoTheSame) {
    for (const std::size_t each : {512U, 536U, 1448U, 1460U, 8948U}) {
        for (const std::size_t bytes : {2 * each, (2 * each) + 1, (5 * each) - 1, (6 * each) + 3}) {
            for (const bool has_timestamps : {true, false}) {
                const std::vector<Bytes> frames =
                    make_stream(bytes, each, {.has_timestamps = has_timestamps, .payload = {}});
                SegmentJoiner joiner = begin(without_checksum(frames[0]));
                for (std::size_t i = 1; i < frames.size(); ++i) {
                    ASSERT_TRUE(append(joiner, without_checksum(frames[i])))
                        << i << " of " << bytes << " by " << each;
                }
                ASSERT_EQ(cut(joiner), frames) << bytes << " by " << each;
            }
        }
    }
}

TEST_F(Joiner, SaysWhatIsLeft) {
    const std::vector<Bytes> frames = make_stream(3000, 1448);
    SegmentJoiner joiner = begin(without_checksum(frames[0]));
    ASSERT_TRUE(append(joiner, without_checksum(frames[1])));
    ASSERT_TRUE(append(joiner, without_checksum(frames[2])));
    EXPECT_FALSE(append(joiner, without_checksum(frames[2]))); // PSH was the end
    const Unfinished left = joiner.finish();
    EXPECT_EQ(left.checksum_start, transport_offset);
    EXPECT_EQ(left.checksum_offset, tcp::checksum);
    EXPECT_EQ(left.segment_bytes, 1448);
    EXPECT_EQ(left.header_bytes, 66);
    ASSERT_EQ(joiner.bytes(), 3066U);
    const Bytes packet(room.begin(), room.begin() + 3066);
    EXPECT_EQ(get_big_endian(packet, ip_offset + ip::total_length), 3052);
    EXPECT_EQ(simple_checksum(std::span(packet).subspan(ip_offset, 20)), 0);
    EXPECT_EQ(get_big_endian(packet, tcp_checksum_offset),
              pseudo_sum(packet, previrt::tcp, 3066 - transport_offset));
    EXPECT_EQ(packet[transport_offset + tcp::flags], tcp::flag_ack | tcp::flag_psh);
}

TEST_F(Joiner, OneAloneStaysAsItIs) {
    const Bytes frame = without_checksum(make_stream(1448, 1448)[0]);
    SegmentJoiner joiner = begin(frame);
    EXPECT_TRUE(joiner.next(frame_room).empty()); // it has PSH
    EXPECT_EQ(joiner.finish().segment_bytes, 0);
    EXPECT_EQ(joiner.bytes(), frame.size());
    EXPECT_TRUE(std::ranges::equal(std::span(room).first(frame.size()), frame));
}

TEST_F(Joiner, BeginsWithALongSegmentOnly) {
    const Segment good{.payload = pattern(600)};
    EXPECT_FALSE(begin(without_checksum(make_segment(good))).next(frame_room).empty());
    EXPECT_TRUE(begin(make_segment(good), {}).next(frame_room).empty()); // its checksum may be wrong
    EXPECT_TRUE(begin(with_tag(without_checksum(make_segment(good)), 7),
                      {.checksum_start = transport_offset + 4, .checksum_offset = tcp::checksum})
                    .next(frame_room)
                    .empty());
    Segment other = good;
    other.payload = pattern(400);
    EXPECT_TRUE(begin(without_checksum(make_segment(other))).next(frame_room).empty());
    for (const unsigned flags : {0x00U, 0x02U, 0x04U, 0x11U, 0x14U, 0x18U, 0x30U, 0x50U, 0x90U}) {
        other = good;
        other.flags = static_cast<std::uint8_t>(flags);
        EXPECT_TRUE(begin(without_checksum(make_segment(other))).next(frame_room).empty()) << flags;
    }
    const Bytes datagram = ip_frame(udp, pattern(1400));
    EXPECT_TRUE(
        begin(datagram, {.checksum_start = transport_offset, .checksum_offset = 6}).next(frame_room).empty());
}

TEST_F(Joiner, TakesNothingButWhatFollows) {
    const std::vector<Bytes> frames = make_stream(5000, 1000);
    const Bytes good = without_checksum(frames[1]);
    const auto expect_refused = [&](const Bytes& frame, const Unfinished& left = left_checksum) {
        SegmentJoiner joiner = begin(without_checksum(frames[0]));
        EXPECT_FALSE(append(joiner, frame, left));
        EXPECT_EQ(joiner.finish().segment_bytes, 0);
        ASSERT_EQ(joiner.bytes(), frames[0].size());
        EXPECT_TRUE(std::ranges::equal(std::span(room).first(joiner.bytes()), without_checksum(frames[0])));
    };
    const auto is_left_open = [](std::size_t offset) { // checksums, which are computed anew
        return offset == ip_checksum_offset || offset == ip_checksum_offset + 1 ||
               offset == tcp_checksum_offset || offset == tcp_checksum_offset + 1;
    };
    for (std::size_t offset = 0; offset < 66; ++offset) {
        Bytes frame = good;
        frame[offset] ^= 0x40;
        if (!is_left_open(offset)) {
            expect_refused(frame);
        }
    }
    expect_refused(good, {});
    expect_refused(frames[0]);
    expect_refused(without_checksum(frames[2]));
    expect_refused(Bytes(good.begin(), good.begin() + 66));
    expect_refused(Bytes(good.begin(), good.begin() + 10));
    Bytes behind = good;
    behind.push_back(0);
    expect_refused(behind);
    expect_refused(without_checksum(
        make_segment({.sequence = 0xffff'f000 + 1000, .identification = 0xffff, .payload = pattern(1001)})));

    SegmentJoiner joiner = begin(without_checksum(frames[0]));
    EXPECT_TRUE(append(joiner, good));
}

// As when the card has nothing more, or half of it.
TEST_F(Joiner, WhatWasNotAppendedLeavesNoTrace) {
    const std::vector<Bytes> frames = make_stream(5000, 1000);
    SegmentJoiner joiner = begin(without_checksum(frames[0]));
    for (std::size_t i = 1; i < frames.size(); ++i) {
        std::ranges::fill(joiner.next(frame_room), std::uint8_t{0xee});
        joiner.restore();
        ASSERT_TRUE(append(joiner, without_checksum(frames[i])));
    }
    EXPECT_EQ(cut(joiner), frames);
}

TEST_F(Joiner, IsNoLongerThanLengthsCanSay) {
    const std::vector<Bytes> frames = make_stream(144'800, 1448);
    SegmentJoiner joiner = begin(without_checksum(frames[0]));
    std::size_t count = 1;
    while (append(joiner, without_checksum(frames[count]))) {
        ++count;
    }
    EXPECT_EQ(count, (65535U - 66U) / 1448U);
    EXPECT_LE(joiner.bytes(), SegmentJoiner::longest);
    EXPECT_EQ(cut(joiner),
              std::vector<Bytes>(frames.begin(), frames.begin() + static_cast<std::ptrdiff_t>(count)));
}

TEST_F(Joiner, EndsWithItsRoom) {
    const std::vector<Bytes> frames = make_stream(40'000, 1448);
    room.resize(20'000);
    SegmentJoiner joiner = begin(without_checksum(frames[0]));
    std::size_t count = 1;
    while (append(joiner, without_checksum(frames[count]))) {
        ++count;
    }
    EXPECT_GE(joiner.bytes() + frame_room, 20'000U);
    EXPECT_LT(joiner.bytes() - 1448 - 66 + frame_room, 20'000U);
}

} // namespace

} // namespace previrt
