// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/network/packet_end.hpp"

#include "host/program.hpp"
#include "tests/unit/ethernet/stream.hpp"

#include <algorithm>
#include <cerrno>
#include <gtest/gtest.h>
#include <sys/socket.h>
#include <unistd.h>

namespace previrt {

namespace {

// Both ends are ours: what the machine makes of it is in tests/linux/network.sh.
class EndWithHeaders : public testing::Test {
protected:
    void SetUp() override {
        ASSERT_EQ(socketpair(AF_UNIX, SOCK_SEQPACKET, 0, ends), 0);
        ours_ = Descriptor(ends[0]);
        theirs_ = Descriptor(ends[1]);
        end_ = {.number = ends[0], .has_headers = true};
    }
    void give(const Bytes& header, const Bytes& packet) {
        Bytes all = header;
        append(all, packet);
        ASSERT_EQ(write(ends[1], all.data(), all.size()), static_cast<ssize_t>(all.size()));
    }
    Bytes taken() {
        Bytes bytes(70'000);
        bytes.resize(static_cast<std::size_t>(read(ends[1], bytes.data(), bytes.size())));
        return bytes;
    }

    int ends[2]{};
    Descriptor ours_;
    Descriptor theirs_;
    PacketEnd end_{};
    Bytes room_ = Bytes(66'000);
    monitored::PacketState state_{};
};

TEST_F(EndWithHeaders, SaysWhatIsLeft) {
    const Bytes packet = without_checksum(make_segment({.payload = pattern(3000)}));
    Bytes expected{1, 1, 66, 0, 0xa8, 5, 34, 0, 16, 0};
    append(expected, packet);
    EXPECT_GT(
        end_.write(packet,
                   {.checksum_start = 34, .checksum_offset = 16, .segment_bytes = 1448, .header_bytes = 66}),
        0);
    EXPECT_EQ(taken(), expected);
    EXPECT_GT(end_.write(packet, {}), 0);
    std::fill_n(expected.begin(), 10, std::uint8_t{0});
    EXPECT_EQ(taken(), expected);
}

TEST_F(EndWithHeaders, SegmentsAreReadAsTheyAre) {
    const Bytes packet = without_checksum(make_segment({.payload = pattern(3000)}));
    give({1, 1, 66, 0, 0xa8, 5, 34, 0, 16, 0}, packet);
    ASSERT_EQ(end_.read(room_, state_), static_cast<ssize_t>(packet.size()));
    EXPECT_TRUE(std::equal(packet.begin(), packet.end(), room_.begin()));
    EXPECT_EQ(state_.left.segment_bytes, 1448);
    EXPECT_EQ(count_frames(packet, 1448).frames, 3U);
    EXPECT_EQ(count_frames(packet, 1448).bytes, 3000U + (3 * 66));
    EXPECT_EQ(count_frames(packet, 0).frames, 1U);
    EXPECT_EQ(count_frames(plain_frame(60), 1448).frames, 1U); // not to be cut
}

TEST_F(EndWithHeaders, AMissingChecksumIsFilledIn) {
    const Bytes frame = make_segment({.payload = pattern(999)});
    give({1, 0, 0, 0, 0, 0, 34, 0, 16, 0}, without_checksum(frame));
    ASSERT_EQ(end_.read(room_, state_), static_cast<ssize_t>(frame.size()));
    EXPECT_TRUE(std::equal(frame.begin(), frame.end(), room_.begin()));
    EXPECT_TRUE(state_.is_verified);
    give({0, 0, 0, 0, 0, 0, 0, 0, 0, 0}, frame);
    ASSERT_GT(end_.read(room_, state_), 0);
    EXPECT_FALSE(state_.is_verified);
    give({2, 0, 0, 0, 0, 0, 0, 0, 0, 0}, frame);
    ASSERT_GT(end_.read(room_, state_), 0);
    EXPECT_TRUE(state_.is_verified);
}

TEST_F(EndWithHeaders, WhatCannotBeIsNoFrame) {
    const Bytes frame = plain_frame(60);
    for (const Bytes& header :
         {Bytes{1, 0, 0, 0, 0, 0, 59, 0, 0, 0}, Bytes{1, 0, 0, 0, 0, 0, 0xff, 0xff, 0xff, 0xff},
          Bytes{0, 4, 0, 0, 0, 0, 0, 0, 0, 0}, Bytes{1, 3, 0, 0, 0, 0, 0, 0, 0, 0}, Bytes{1, 0}}) {
        give(header, header.size() == 10 ? frame : Bytes{});
        const ssize_t got = end_.read(room_, state_);
        EXPECT_GT(got, 0);
        EXPECT_LT(got, 14);
    }
}

TEST_F(EndWithHeaders, WithoutThemFramesAreComplete) {
    const PacketEnd plain{.number = ends[0], .has_headers = false};
    EXPECT_GT(plain.write(plain_frame(60), {}), 0);
    EXPECT_EQ(taken(), plain_frame(60));
    EXPECT_EQ(plain.write(Bytes(longest_frame + 1), {}), -1);
    EXPECT_EQ(errno, EINVAL);
    EXPECT_EQ(plain.write(plain_frame(60), {.checksum_start = 34, .checksum_offset = 16}), -1);
    EXPECT_EQ(errno, EINVAL);
}

} // namespace

} // namespace previrt
