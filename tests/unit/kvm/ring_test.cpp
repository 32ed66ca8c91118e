// SPDX-License-Identifier: BSD-2-Clause
// Our ends of the rings, and what a guest can do to them.
#include "monitor/console/ring_ends.hpp"

#include <cstring>
#include <gtest/gtest.h>
#include <iterator>

namespace previrt {

namespace {

constexpr std::uint32_t room = sizeof(monitored::ConsoleRing::bytes);

void put(monitored::ConsoleRing& ring, const std::string& text) {
    for (const char character : text) {
        ring.bytes[ring.produced++ % room] = character;
    }
}

std::string take(monitored::ConsoleRing& ring) {
    std::string text;
    while (ring.consumed != ring.produced) {
        text += ring.bytes[ring.consumed++ % room];
    }
    return text;
}

TEST(KvmRing, ReadsWhatIsThereOnce) {
    monitored::ConsoleRing ring{};
    RingReader reader(ring);
    EXPECT_EQ(reader.read(), "");
    for (int i = 0; i < 1000; ++i) {
        const std::string text = "line " + std::to_string(i);
        put(ring, text);
        EXPECT_EQ(reader.read(), text);
        EXPECT_EQ(ring.consumed, ring.produced);
        EXPECT_EQ(reader.read(), "");
    }
    put(ring, std::string(room, 'x'));
    EXPECT_EQ(reader.read(), std::string(room, 'x'));
}

TEST(KvmRing, WritesWhatThereIsRoomFor) {
    monitored::ConsoleRing ring{};
    RingWriter writer(ring);
    EXPECT_EQ(writer.write(std::string(room + 7, 'x')), room);
    EXPECT_EQ(writer.write("y"), 0U);
    EXPECT_EQ(take(ring), std::string(room, 'x'));
    for (int i = 0; i < 1000; ++i) {
        const std::string text = "key " + std::to_string(i);
        EXPECT_EQ(writer.write(text), text.size());
        EXPECT_EQ(take(ring), text);
    }
}

TEST(KvmRing, AsksForACallWhereNothingHasCome) {
    monitored::ConsoleRing ring{};
    RingReader reader(ring);
    EXPECT_EQ(ring.reader_waits, 0U);
    EXPECT_TRUE(reader.wait());
    EXPECT_EQ(ring.reader_waits, 1U);
    put(ring, "one");
    EXPECT_FALSE(reader.wait()); // before it could see that we wait
    EXPECT_EQ(reader.read(), "one");
    EXPECT_EQ(ring.reader_waits, 0U);
    EXPECT_TRUE(reader.wait());
}

// Each is read as a ring that is full, and then as an honest one.
TEST(KvmRing, CountersThatLieGiveNoMoreThanTheRing) {
    for (const std::uint32_t lie : {room + 1, 0x7fffffffU, 0x80000000U, 0xffffffffU}) {
        monitored::ConsoleRing ring{};
        RingReader reader(ring);
        put(ring, "before");
        EXPECT_EQ(reader.read(), "before");
        ring.produced += lie;
        EXPECT_EQ(reader.read().size(), room);
        EXPECT_EQ(reader.read(), "");
        put(ring, "after");
        EXPECT_EQ(reader.read(), "after");
    }
}

TEST(KvmRing, OurOwnCounterIsNotBelievedEither) {
    monitored::ConsoleRing ring{};
    RingReader reader(ring);
    put(ring, "one");
    EXPECT_EQ(reader.read(), "one");
    ring.consumed = 0xdeadbeef;
    put(ring, "two");
    EXPECT_EQ(reader.read(), "two");

    monitored::ConsoleRing keys{};
    RingWriter writer(keys);
    EXPECT_EQ(writer.write("abc"), 3U);
    keys.produced = 0xdeadbeef;
    EXPECT_EQ(writer.write("d"), 1U);
    EXPECT_EQ(keys.produced, 4U);
    EXPECT_EQ(std::string(keys.bytes, 4), "abcd");
}

TEST(KvmRing, AConsumerThatLiesIsWrittenNoMoreThanTheRing) {
    for (const std::uint32_t lie : {1U, room, 0x80000000U, 0xffffffffU}) {
        monitored::ConsoleRing ring{};
        RingWriter writer(ring);
        ring.consumed = lie; // ahead of us
        EXPECT_EQ(writer.write(std::string(room + 1, 'x')), lie == 0xffffffffU ? room - 1 : 0U);
        EXPECT_EQ(*std::rbegin(ring.reserved), 0U);
        EXPECT_EQ(*std::rbegin(ring.reserved2), 0U);
    }
}

} // namespace

} // namespace previrt
