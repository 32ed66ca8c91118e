// SPDX-License-Identifier: BSD-2-Clause
#include "bench/idle/echo.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <vector>

namespace previrt::echo {

namespace {

constexpr Station guest = 0x0123;
constexpr std::size_t internet = ethernet::header_bytes; // where the packet begins
constexpr std::size_t first_of_icmp = internet + 20;

TEST(IdleEcho, EveryStationHasItsAddresses) {
    EXPECT_EQ(text_of_mac(guest), "52:54:00:09:01:23");
    EXPECT_EQ(text_of_address(guest), "10.9.1.35");
    EXPECT_EQ(text_of_mac(bench), "52:54:00:09:ff:fe"); // bench/guest/idle.sh has these two
    EXPECT_EQ(text_of_address(bench), "10.9.255.254");
}

TEST(IdleEcho, ARequestIsReadByItsStationAlone) {
    const Frame frame = make(Kind::request, guest, bench);
    const auto received = read(frame, guest);
    ASSERT_TRUE(received);
    EXPECT_EQ(received->kind, Kind::request);
    EXPECT_EQ(received->from, bench);
    EXPECT_FALSE(read(frame, guest + 1));
    EXPECT_FALSE(read(frame, bench));
}

TEST(IdleEcho, AnAnswerKeepsTheRequestsContent) {
    // As Linux sends it: with 56 bytes of content.
    constexpr std::size_t content = 56;
    const Frame start = make(Kind::request, bench, guest);
    std::vector<std::uint8_t> frame(start.begin(), start.begin() + first_of_icmp);
    frame.insert(frame.end(), {8, 0, 0, 0, 0x12, 0x34, 0, 7});
    for (std::size_t i = 0; i < content; ++i) {
        frame.push_back(static_cast<std::uint8_t>(i));
    }
    const std::vector<std::uint8_t> sent = frame;
    // Header and length as RFC 791 wants them; the sum of all words but the checksum, by hand.
    const auto sum = [&](std::size_t from, std::size_t to) {
        std::uint32_t all = 0;
        for (std::size_t i = from; i < to; i += 2) {
            all += ethernet::read_big_endian(frame, i);
        }
        while (all > 0xffff) {
            all = (all & 0xffffU) + (all >> 16U);
        }
        return static_cast<std::uint16_t>(all);
    };
    ethernet::write_big_endian(frame, internet + 2, static_cast<std::uint16_t>(frame.size() - internet));
    ethernet::write_big_endian(frame, internet + 10, 0);
    ethernet::write_big_endian(frame, internet + 10,
                               static_cast<std::uint16_t>(~sum(internet, first_of_icmp)));
    ethernet::write_big_endian(frame, first_of_icmp + 2,
                               static_cast<std::uint16_t>(~sum(first_of_icmp, frame.size())));
    ASSERT_TRUE(read(frame, bench));
    EXPECT_EQ(read(frame, bench)->from, guest);

    turn_into_answer(frame);
    const auto answer = read(frame, guest);
    ASSERT_TRUE(answer);
    EXPECT_EQ(answer->kind, Kind::answer);
    EXPECT_EQ(answer->from, bench);
    EXPECT_TRUE(std::equal(frame.begin() + first_of_icmp + 4, frame.end(), sent.begin() + first_of_icmp + 4));
    EXPECT_EQ(frame[0], 0x52);
    EXPECT_EQ(frame[5], guest & 0xffU); // to the sender's MAC address
}

TEST(IdleEcho, OneWrongBitIsNoEcho) {
    const Frame right = make(Kind::answer, bench, guest);
    ASSERT_TRUE(read(right, bench));
    for (std::size_t byte = internet; byte < right.size(); ++byte) {
        for (unsigned bit = 0; bit < 8; ++bit) {
            Frame wrong = right;
            wrong.at(byte) ^= static_cast<std::uint8_t>(1U << bit);
            EXPECT_FALSE(read(wrong, bench)) << byte << ", " << bit;
        }
    }
}

TEST(IdleEcho, ShortFramesAndFragmentsAreNone) {
    const Frame right = make(Kind::answer, bench, guest);
    for (std::size_t length = 0; length < right.size(); ++length) {
        EXPECT_FALSE(read(std::span(right).first(length), bench)) << length;
    }
}

} // namespace

} // namespace previrt::echo
