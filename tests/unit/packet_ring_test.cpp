// SPDX-License-Identifier: BSD-2-Clause
#include "backends/common/contract/packet_ring.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <random>
#include <thread>
#include <vector>

namespace previrt::monitored {

namespace {

using Bytes = std::vector<std::uint8_t>;

// Of 32 bits; the standard's own gives them in 64.
class Random {
public:
    explicit Random(std::uint32_t seed) : engine_(seed) {}
    std::uint32_t operator()() { return static_cast<std::uint32_t>(engine_()); }

private:
    std::mt19937 engine_;
};

class PacketRings : public testing::Test {
protected:
    std::unique_ptr<PacketRing> ring_ = std::make_unique<PacketRing>();
    PacketWriter writer_{*ring_};
    PacketReader reader_{*ring_};

    bool write(const Bytes& packet) { return write(packet, static_cast<std::uint32_t>(packet.size())); }
    bool write(const Bytes& packet, std::uint32_t reserved) {
        const std::span<std::uint8_t> place = writer_.reserve(reserved);
        if (!place.empty()) {
            std::ranges::copy(packet, place.begin());
            writer_.commit(static_cast<std::uint32_t>(packet.size()));
        }
        return !place.empty();
    }
    Bytes read() {
        const auto packet = reader_.next();
        if (!packet) {
            return {};
        }
        const Bytes bytes(packet->bytes.begin(), packet->bytes.end());
        reader_.release();
        return bytes;
    }
};

Bytes make_packet(std::size_t bytes, std::uint8_t seed) {
    Bytes packet(bytes);
    std::ranges::generate(packet, [&] { return seed++; });
    return packet;
}

TEST_F(PacketRings, PacketsComeAsTheyWent) {
    EXPECT_EQ(read(), Bytes());
    for (const std::size_t bytes : {1U, 7U, 8U, 60U, 1514U, 9018U, longest_packet}) {
        EXPECT_TRUE(write(make_packet(bytes, 3)));
    }
    EXPECT_TRUE(write(make_packet(60, 9), longest_packet)); // fewer than were reserved
    for (const std::size_t bytes : {1U, 7U, 8U, 60U, 1514U, 9018U, longest_packet}) {
        EXPECT_EQ(read(), make_packet(bytes, 3));
    }
    EXPECT_EQ(read(), make_packet(60, 9));
    EXPECT_EQ(read(), Bytes());
}

TEST_F(PacketRings, AFullRingTakesNoneAndLosesNone) {
    Random random(1);
    std::vector<Bytes> inside;
    std::size_t first = 0;
    std::uint8_t seed = 0;
    for (int i = 0; i < 4000; ++i) {
        const Bytes packet = make_packet(1 + (random() % longest_packet), ++seed);
        if (write(packet)) {
            inside.push_back(packet);
        } else {
            EXPECT_GT(inside.size() - first, sizeof(PacketRing::bytes) / (longest_packet + 8) / 2);
        }
        if (random() % 2 != 0 && first < inside.size()) {
            ASSERT_EQ(read(), inside[first]);
            inside[first++].clear();
        }
    }
    while (first < inside.size()) {
        ASSERT_EQ(read(), inside[first++]);
    }
    EXPECT_EQ(read(), Bytes());
}

TEST_F(PacketRings, WhatIsTooLongHasNoPlace) {
    EXPECT_TRUE(writer_.reserve(longest_packet + 1).empty());
    EXPECT_TRUE(writer_.reserve(~std::uint32_t{0}).empty());
}

TEST_F(PacketRings, WhoWaitsIsCalledOnce) {
    EXPECT_TRUE(write({1}));
    EXPECT_FALSE(writer_.must_call());
    EXPECT_FALSE(reader_.wait()); // one has come
    EXPECT_EQ(read(), Bytes({1}));
    EXPECT_TRUE(reader_.wait());
    EXPECT_TRUE(write({2}));
    EXPECT_TRUE(writer_.must_call());
    EXPECT_FALSE(writer_.must_call());

    while (write(make_packet(longest_packet, 0))) {
    }
    EXPECT_TRUE(writer_.wait(longest_packet));
    EXPECT_EQ(read(), Bytes({2}));
    EXPECT_TRUE(reader_.must_call());
    EXPECT_FALSE(reader_.must_call());
    EXPECT_EQ(read(), make_packet(longest_packet, 0));
    EXPECT_FALSE(writer_.wait(longest_packet));
}

TEST_F(PacketRings, AWriterThatLiesIsReadWithinTheRing) {
    Random random(2);
    const auto* const begin = ring_->bytes;
    const auto* const end = begin + sizeof(ring_->bytes);
    for (int i = 0; i < 100000; ++i) {
        if (random() % 3 == 0) {
            ring_->counters.produced += random() % 4 == 0 ? random() : (random() % 4096) & ~15U;
        }
        const std::array<std::uint32_t, 6> lengths = {
            random(), 0, ~std::uint32_t{0}, longest_packet, longest_packet + 1, random() % 3000};
        std::memcpy(&ring_->bytes[(random() % sizeof(ring_->bytes)) & ~15U], &lengths[random() % 6], 4);
        if (const auto packet = reader_.next()) {
            EXPECT_GT(packet->bytes.size(), 0);
            EXPECT_LE(packet->bytes.size(), longest_packet);
            EXPECT_GE(packet->bytes.data(), begin);
            EXPECT_LE(packet->bytes.data() + packet->bytes.size(), end);
            reader_.release();
        }
    }
    ring_->counters.produced = ring_->counters.consumed;
}

TEST_F(PacketRings, AReaderThatLiesIsWrittenForWithinTheRing) {
    Random random(3);
    for (int i = 0; i < 100000; ++i) {
        ring_->counters.consumed = random();
        const std::uint32_t bytes = random() % (longest_packet + 2);
        const std::span<std::uint8_t> place = writer_.reserve(bytes);
        if (!place.empty()) {
            ASSERT_GE(place.data(), ring_->bytes);
            ASSERT_GE(place.size(), bytes);
            ASSERT_LE(place.size(), most_room);
            ASSERT_LE(place.data() + place.size(), ring_->bytes + sizeof(ring_->bytes));
            writer_.commit(std::max(bytes, 1U) - (random() % std::max(bytes, 1U)));
        }
    }
}

TEST_F(PacketRings, TwoThreadsLoseNothing) {
    constexpr std::uint32_t packets = 200000;
    std::thread reader([&] {
        for (std::uint32_t expected = 0; expected < packets;) {
            const auto packet = reader_.next();
            if (!packet) {
                std::this_thread::yield();
                continue;
            }
            std::uint32_t number = 0;
            ASSERT_GE(packet->bytes.size(), sizeof number);
            std::memcpy(&number, packet->bytes.data(), sizeof number);
            ASSERT_EQ(number, expected);
            ASSERT_EQ(packet->bytes.size(), sizeof number + (expected % 1500));
            ++expected;
            reader_.release();
        }
    });
    for (std::uint32_t number = 0; number < packets;) {
        const std::uint32_t bytes = sizeof number + (number % 1500);
        if (const std::span<std::uint8_t> place = writer_.reserve(bytes); !place.empty()) {
            std::memcpy(place.data(), &number, sizeof number);
            writer_.commit(bytes);
            ++number;
        } else {
            std::this_thread::yield();
        }
    }
    reader.join();
}

} // namespace

} // namespace previrt::monitored
