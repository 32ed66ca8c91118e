// SPDX-License-Identifier: BSD-2-Clause
#include "tests/unit/devices/dp83820/linux_driver.hpp"

#include <random>

namespace previrt {
namespace {

using namespace dp83820;

class AsLinux : public testing::Test {
protected:
    void SetUp() override {
        driver.probe();
        driver.open();
        ASSERT_TRUE(driver.settle());
    }

    Card card;
    LinuxDriver driver{card};
};

TEST_F(AsLinux, ProbesAndOpens) {
    EXPECT_EQ(driver.address, card_address);
    EXPECT_TRUE(driver.carrier);
    EXPECT_EQ(card.read(at::cfg), 0xa000'0000U | 0x1e'01b8U | cfg_m64addr | cfg_mode_1000 | 0x40U);
    EXPECT_EQ(driver.interrupts, 1U); // RXRCMP from its reset
    EXPECT_EQ(card.nic.receive_ring.engine, Engine::active);
}

TEST_F(AsLinux, Sends) {
    EXPECT_TRUE(driver.transmit({plain_frame(60)}));
    EXPECT_TRUE(driver.settle());
    ASSERT_EQ(driver.sent.size(), 1U);
    EXPECT_EQ(driver.sent[0], plain_frame(60));
    EXPECT_EQ(driver.sent_packets, 1U);
}

TEST_F(AsLinux, SendsFragmentsWithTagAndChecksum) {
    const Bytes frame = ip_frame(tcp, pattern(1460));
    Bytes given = frame;
    put_big_endian(given, tcp_checksum_offset, pseudo_sum(frame, tcp, frame.size() - transport_offset));
    EXPECT_TRUE(driver.transmit(cut(given, 18), extsts_ippkt | extsts_tcppkt | extsts_vpkt | 0x2301U));
    EXPECT_TRUE(driver.settle());
    ASSERT_EQ(driver.sent.size(), 1U);
    EXPECT_EQ(driver.sent[0], with_tag(frame, 0x0123));
    EXPECT_EQ(driver.sent_packets, 1U);
}

TEST_F(AsLinux, ManyFramesGoOutOnceAndInOrder) {
    std::mt19937 random(1);
    std::vector<Bytes> all;
    for (unsigned i = 0; i < 2000; ++i) {
        all.push_back(plain_frame(60 + (random() % 1455), static_cast<std::uint8_t>(i)));
        std::vector<Bytes> fragments{all.back()};
        if (random() % 3 == 0) {
            fragments = cut(all.back(), 2 + (random() % 4));
        }
        if (!driver.transmit(fragments)) {
            ASSERT_TRUE(driver.settle());
            ASSERT_TRUE(driver.transmit(fragments));
        }
        if (random() % 100 == 0) {
            ASSERT_TRUE(driver.settle());
        }
    }
    ASSERT_TRUE(driver.settle());
    EXPECT_EQ(driver.sent, all);
    EXPECT_EQ(driver.sent_packets, 2000U);
    EXPECT_EQ(driver.sent_errors, 0U);
    EXPECT_EQ(card.nic.statistics.sent_frames, 2000U);
    EXPECT_LT(driver.interrupts, 200U);
}

TEST_F(AsLinux, ReceivesABatchWithFewInterrupts) {
    const std::uint64_t before = driver.interrupts;
    for (unsigned i = 0; i < 40; ++i) {
        EXPECT_TRUE(card.receive(plain_frame(1514, static_cast<std::uint8_t>(i))));
    }
    ASSERT_TRUE(driver.settle());
    ASSERT_EQ(driver.received.size(), 40U);
    for (unsigned i = 0; i < 40; ++i) {
        EXPECT_EQ(driver.received[i], plain_frame(1514, static_cast<std::uint8_t>(i)));
    }
    EXPECT_EQ(driver.interrupts - before, 1U);
}

// Rings of 60 buffers and a FIFO behind them: with back-pressure nothing is lost.
TEST_F(AsLinux, ReceivesAStreamWithoutLoss) {
    std::mt19937 random(2);
    std::vector<Bytes> all;
    all.reserve(3000);
    std::size_t next = 0;
    for (unsigned i = 0; i < 3000; ++i) {
        all.push_back(plain_frame(60 + (random() % 1455), static_cast<std::uint8_t>(i)));
    }
    while (next < all.size()) {
        while (next < all.size() && card.nic.can_receive(static_cast<std::uint32_t>(all[next].size()))) {
            ASSERT_TRUE(card.receive(all[next]));
            ++next;
        }
        ASSERT_TRUE(driver.settle());
    }
    EXPECT_EQ(driver.received, all);
    EXPECT_EQ(driver.overruns, 0U);
    EXPECT_EQ(card.nic.statistics.received_frames, all.size());
    EXPECT_GT(card.nic.statistics.waited_frames, 0U);
}

TEST_F(AsLinux, AFloodLosesWhatHasNoRoomAndGoesOn) {
    unsigned taken = 0;
    for (unsigned i = 0; i < 200; ++i) {
        taken += card.receive(plain_frame(1514)) ? 1 : 0;
    }
    EXPECT_EQ(taken, 60U + 21U);
    ASSERT_TRUE(driver.settle());
    EXPECT_EQ(driver.received.size(), taken);
    EXPECT_EQ(driver.overruns, 2U); // RXORN and RXSOVR, seen once
    EXPECT_EQ(card.nic.statistics.lost_no_room, 200U - taken);
    EXPECT_TRUE(card.receive(plain_frame(70)));
    ASSERT_TRUE(driver.settle());
    EXPECT_EQ(driver.received.back(), plain_frame(70));
}

// The handler enables the receiver at a slot that is full: the tasklet must have its turn.
TEST_F(AsLinux, AFullRingDoesNotStarveTheTasklet) {
    for (unsigned i = 0; i < 61; ++i) {
        EXPECT_TRUE(card.receive(plain_frame(60)));
    }
    const std::uint64_t before = driver.interrupts;
    ASSERT_TRUE(driver.settle());
    EXPECT_EQ(driver.received.size(), 61U);
    EXPECT_LT(driver.interrupts - before, 10U);
}

TEST_F(AsLinux, WithoutAPauseBetweenInterruptsItWould) {
    card.nic.interrupts.least_pause = 0;
    for (unsigned i = 0; i < 61; ++i) {
        EXPECT_TRUE(card.receive(plain_frame(60)));
    }
    EXPECT_FALSE(driver.settle());
    EXPECT_TRUE(driver.received.empty());
}

TEST_F(AsLinux, ReceivesTaggedFramesStripped) {
    const Bytes frame = ip_frame(tcp, pattern(300));
    EXPECT_TRUE(card.receive(with_tag(frame, 0x0123)));
    EXPECT_TRUE(card.receive(with_tag(plain_frame(42), 1)));
    EXPECT_TRUE(card.receive(with_tag(plain_frame(1514), 1)));
    ASSERT_TRUE(driver.settle());
    ASSERT_EQ(driver.received.size(), 3U);
    EXPECT_EQ(driver.received[0], frame);
    EXPECT_EQ(driver.received_tags[0], extsts_vpkt | 0x2301U | extsts_ippkt | extsts_tcppkt);
    EXPECT_EQ(driver.received[1].size(), 56U);
    EXPECT_EQ(driver.received[2], plain_frame(1514));
}

TEST_F(AsLinux, DropsWhatIsTooLongForItsBuffers) {
    EXPECT_TRUE(card.receive(plain_frame(3000)));
    EXPECT_TRUE(card.receive(plain_frame(1000)));
    ASSERT_TRUE(driver.settle());
    ASSERT_EQ(driver.received.size(), 1U);
    EXPECT_EQ(driver.received[0], plain_frame(1000));
    EXPECT_EQ(driver.dropped, 1U);
}

TEST_F(AsLinux, SeesTheLinkComeAndGo) {
    card.nic.set_link(false, card.now);
    ASSERT_TRUE(driver.settle());
    EXPECT_FALSE(driver.carrier);
    EXPECT_TRUE(driver.transmit({plain_frame(60)}));
    ASSERT_TRUE(driver.settle());
    EXPECT_TRUE(driver.sent.empty());
    card.nic.set_link(true, card.now);
    ASSERT_TRUE(driver.settle());
    EXPECT_TRUE(driver.carrier);
    EXPECT_TRUE(driver.transmit({plain_frame(61)}));
    ASSERT_TRUE(driver.settle());
    EXPECT_EQ(driver.sent.size(), 1U);
}

TEST_F(AsLinux, BothWaysAtOnce) {
    std::mt19937 random(3);
    std::vector<Bytes> out;
    std::vector<Bytes> in;
    for (unsigned i = 0; i < 3000; ++i) {
        const Bytes frame = plain_frame(60 + (random() % 1455), static_cast<std::uint8_t>(i));
        if (random() % 2 == 0) {
            if (driver.transmit({frame})) {
                out.push_back(frame);
            }
        } else if (card.nic.can_receive(1514)) {
            ASSERT_TRUE(card.receive(frame));
            in.push_back(frame);
        }
        if (random() % 64 == 0) {
            ASSERT_TRUE(driver.settle());
        }
        card.now += 1000;
    }
    ASSERT_TRUE(driver.settle());
    EXPECT_EQ(driver.sent, out);
    EXPECT_EQ(driver.received, in);
}

// rmmod and insmod under traffic: what was under way is gone, and all begins anew.
TEST_F(AsLinux, LeavesAndComesBack) {
    EXPECT_TRUE(driver.transmit({plain_frame(60)}));
    EXPECT_TRUE(card.receive(plain_frame(60)));
    driver.close();
    EXPECT_TRUE(card.sent().empty());
    EXPECT_TRUE(card.receive(plain_frame(60))); // nobody listens
    EXPECT_FALSE(card.line());
    EXPECT_EQ(card.nic.statistics.refused_receiver_off, 1U);
    LinuxDriver again(card);
    again.probe();
    again.open();
    ASSERT_TRUE(again.settle());
    EXPECT_TRUE(again.transmit({plain_frame(99)}));
    EXPECT_TRUE(card.receive(plain_frame(98)));
    ASSERT_TRUE(again.settle());
    EXPECT_EQ(again.sent, std::vector<Bytes>{plain_frame(99)});
    EXPECT_EQ(again.received, std::vector<Bytes>{plain_frame(98)});
}

TEST(AsLinuxOnFibre, ComesUp) {
    Card card(Transceiver::fibre);
    LinuxDriver driver(card);
    driver.probe();
    driver.open();
    ASSERT_TRUE(driver.settle());
    EXPECT_TRUE(driver.carrier);
    EXPECT_EQ(card.read(at::gpior) & 1U, 1U); // the LED of full duplex
    EXPECT_TRUE(driver.transmit({plain_frame(60)}));
    EXPECT_TRUE(card.receive(plain_frame(60)));
    ASSERT_TRUE(driver.settle());
    EXPECT_EQ(driver.sent.size(), 1U);
    EXPECT_EQ(driver.received.size(), 1U);
}

} // namespace
} // namespace previrt
