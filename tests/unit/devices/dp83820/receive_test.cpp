// SPDX-License-Identifier: BSD-2-Clause
#include "devices/dp83820/frame_check.hpp"
#include "tests/unit/devices/dp83820/card.hpp"

namespace previrt {
namespace {

using namespace dp83820;

constexpr std::uint32_t to_this_card = 1U << cmdsts_rx_destination_shift;

using Receiver = CardTest;

TEST_F(Receiver, FillsTheNextDescriptor) {
    give_to_receive(0, 1514, cmdsts_intr);
    give_to_receive(1, 1514);
    enable_receiver();
    EXPECT_EQ(card.read(at::cr), cr_rxe);
    EXPECT_TRUE(card.receive(plain_frame(1514, 3)));
    EXPECT_EQ(receive_cmdsts(0), cmdsts_own | cmdsts_intr | cmdsts_ok | to_this_card | 1514U);
    EXPECT_EQ(receive_extsts(0), 0U);
    EXPECT_EQ(received(0), plain_frame(1514, 3));
    EXPECT_EQ(card.read(at::isr), isr_rxok | isr_rxdesc);
    EXPECT_EQ(card.read(at::rxdp), receive_at(1));
    EXPECT_TRUE(card.receive(plain_frame(60, 4)));
    EXPECT_EQ(received(1), plain_frame(60, 4));
    EXPECT_EQ(card.read(at::isr), isr_rxok | isr_rxidle); // the next is not the chip's
    EXPECT_EQ(card.read(at::cr), 0U);
    EXPECT_EQ(card.nic.statistics.received_frames, 2U);
    EXPECT_EQ(card.nic.statistics.received_bytes, 1574U);
}

TEST_F(Receiver, PadsWhatComesShort) {
    give_to_receive(0, 1514);
    enable_receiver();
    EXPECT_TRUE(card.receive(plain_frame(42)));
    EXPECT_EQ(received(0), padded(plain_frame(42)));
    EXPECT_EQ(receive_cmdsts(0) & cmdsts_ok, cmdsts_ok);
}

TEST_F(Receiver, AFrameGoesOnInTheNextBuffer) {
    for (unsigned i = 0; i < 4; ++i) {
        give_to_receive(i, 2040, i == 2 ? cmdsts_intr : 0);
    }
    enable_receiver();
    EXPECT_TRUE(card.receive(plain_frame(5000)));
    EXPECT_EQ(receive_cmdsts(0), cmdsts_own | cmdsts_more | 2040U);
    EXPECT_EQ(receive_cmdsts(1), cmdsts_own | cmdsts_more | 2040U);
    EXPECT_EQ(receive_cmdsts(2), cmdsts_own | cmdsts_intr | cmdsts_ok | to_this_card | 920U);
    Bytes frame = received(0);
    append(frame, received(1));
    append(frame, received(2));
    EXPECT_EQ(frame, plain_frame(5000));
    EXPECT_EQ(card.read(at::isr), isr_rxok | isr_rxdesc);
    EXPECT_EQ(card.read(at::rxdp), receive_at(3));
}

TEST_F(Receiver, AFrameThatFitsExactlyHasNoMore) {
    give_to_receive(0, 100);
    give_to_receive(1, 100);
    enable_receiver();
    EXPECT_TRUE(card.receive(plain_frame(200)));
    EXPECT_EQ(receive_cmdsts(0), cmdsts_own | cmdsts_more | 100U);
    EXPECT_EQ(receive_cmdsts(1), cmdsts_own | cmdsts_ok | to_this_card | 100U);
}

TEST_F(Receiver, AnEmptyBufferIsPassedOver) {
    give_to_receive(0, 0);
    give_to_receive(1, 100);
    enable_receiver();
    EXPECT_TRUE(card.receive(plain_frame(80)));
    EXPECT_EQ(receive_cmdsts(0), cmdsts_own | cmdsts_more);
    EXPECT_EQ(received(1), plain_frame(80));
}

TEST_F(Receiver, FramesWaitInTheFifoForDescriptors) {
    enable_receiver();
    EXPECT_EQ(card.read(at::isr), 0U);
    layout.write(card.ram, receive_at(0), 0, 0, cmdsts_own);
    enable_receiver();
    for (unsigned i = 0; i < 5; ++i) {
        EXPECT_TRUE(card.receive(plain_frame(100 + i, static_cast<std::uint8_t>(i))));
        give_to_receive(i, 1514);
    }
    EXPECT_EQ(card.nic.statistics.received_frames, 0U);
    enable_receiver();
    for (unsigned i = 0; i < 5; ++i) {
        EXPECT_EQ(received(i), plain_frame(100 + i, static_cast<std::uint8_t>(i)));
    }
    EXPECT_EQ(card.nic.statistics.received_frames, 5U);
    EXPECT_EQ(card.nic.statistics.waited_frames, 5U);
}

TEST_F(Receiver, TheRestOfAFrameWaitsAsWell) {
    give_to_receive(0, 1000);
    enable_receiver();
    EXPECT_TRUE(card.receive(plain_frame(2500)));
    EXPECT_EQ(receive_cmdsts(0), cmdsts_own | cmdsts_more | 1000U);
    EXPECT_EQ(card.read(at::isr), isr_rxidle);
    EXPECT_TRUE(card.receive(plain_frame(60)));
    give_to_receive(1, 1000);
    enable_receiver();
    EXPECT_EQ(receive_cmdsts(1), cmdsts_own | cmdsts_more | 1000U);
    give_to_receive(2, 1000);
    give_to_receive(3, 1000);
    enable_receiver();
    Bytes frame = received(0);
    append(frame, received(1));
    append(frame, received(2));
    EXPECT_EQ(frame, plain_frame(2500));
    EXPECT_EQ(received(3), plain_frame(60));
}

TEST_F(Receiver, AFullFifoLosesFramesAndSaysSo) {
    card.write(at::mibc, 0);
    layout.write(card.ram, receive_at(0), 0, 0, cmdsts_own);
    enable_receiver();
    card.read(at::isr);
    unsigned taken = 0;
    while (card.nic.can_receive(1514)) {
        ASSERT_TRUE(card.receive(plain_frame(1514, static_cast<std::uint8_t>(taken))));
        ++taken;
    }
    EXPECT_EQ(taken, 21U); // of 32 KiB
    EXPECT_EQ(card.read(at::isr), 0U);
    EXPECT_FALSE(card.receive(plain_frame(1514)));
    EXPECT_EQ(card.read(at::isr), isr_rxorn | isr_rxsovr | isr_hibint);
    EXPECT_EQ(card.nic.statistics.lost_no_room, 1U);
    EXPECT_EQ(card.read(0x68), 1U);
    EXPECT_EQ(card.read(0x60), 1U);
    for (unsigned i = 0; i < taken; ++i) {
        give_to_receive(i, 1514);
    }
    enable_receiver();
    for (unsigned i = 0; i < taken; ++i) {
        ASSERT_EQ(received(i), plain_frame(1514, static_cast<std::uint8_t>(i)));
    }
}

TEST_F(Receiver, EveryFailedEnableTellsThatItIsIdle) {
    layout.write(card.ram, receive_at(0), 0, 0, cmdsts_own);
    for (unsigned round = 0; round < 3; ++round) {
        enable_receiver();
        EXPECT_EQ(card.read(at::isr), isr_rxidle);
        EXPECT_EQ(card.read(at::rxdp), receive_at(0));
    }
}

// As Linux refills: the chain ends in a link of 0, and grows while the chip is done with its last.
TEST_F(Receiver, ADoneDescriptorIsNotFilledTwice) {
    layout.write(card.ram, receive_at(0), 0, receive_buffer(0), 1514);
    enable_receiver();
    EXPECT_TRUE(card.receive(plain_frame(60, 1)));
    EXPECT_EQ(card.read(at::isr), isr_rxok | isr_rxidle);
    EXPECT_EQ(card.read(at::rxdp), receive_at(0));
    enable_receiver();
    EXPECT_EQ(card.read(at::isr), isr_rxidle);
    EXPECT_TRUE(card.receive(plain_frame(60, 2)));
    give_to_receive(1, 1514);
    layout.write(card.ram, receive_at(0), receive_at(1), receive_buffer(0), 1514); // owned again, too
    enable_receiver();
    EXPECT_EQ(receive_cmdsts(0), 1514U);
    EXPECT_EQ(received(1), plain_frame(60, 2));
}

TEST_F(Receiver, AWriteToRxdpForgetsThatTheDescriptorIsDone) {
    layout.write(card.ram, receive_at(0), 0, receive_buffer(0), 1514);
    enable_receiver();
    EXPECT_TRUE(card.receive(plain_frame(60, 1)));
    layout.write(card.ram, receive_at(0), 0, receive_buffer(0), 1514);
    card.write(at::rxdp, receive_at(0));
    enable_receiver();
    EXPECT_TRUE(card.receive(plain_frame(60, 2)));
    EXPECT_EQ(received(0), plain_frame(60, 2));
}

TEST_F(Receiver, OffItTakesNothing) {
    EXPECT_TRUE(card.receive(plain_frame(60)));
    give_to_receive(0, 1514);
    enable_receiver();
    card.write(at::cr, cr_rxe | cr_rxd);
    EXPECT_EQ(card.read(at::cr), 0U);
    EXPECT_TRUE(card.receive(plain_frame(60)));
    EXPECT_EQ(card.nic.statistics.refused_receiver_off, 2U);
    EXPECT_EQ(receive_cmdsts(0), 1514U);
}

TEST_F(Receiver, ResetFlushesTheFifo) {
    layout.write(card.ram, receive_at(0), 0, 0, cmdsts_own);
    enable_receiver();
    EXPECT_TRUE(card.receive(plain_frame(60)));
    EXPECT_TRUE(card.receive(plain_frame(60)));
    card.read(at::isr);
    card.write(at::cr, cr_rxr);
    EXPECT_EQ(card.read(at::isr), isr_rxrcmp | isr_hibint);
    EXPECT_EQ(card.read(at::rxdp), 0U);
    EXPECT_EQ(card.nic.statistics.lost_flushed, 2U);
    EXPECT_TRUE(card.nic.fifo.empty());
}

// NetBSD does not strip: the size counts four bytes of FCS.
TEST_F(Receiver, TheFcsFollowsIfTheGuestWantsIt) {
    card.clear(at::rxcfg, rxcfg_stripcrc);
    give_to_receive(0, 1518);
    give_to_receive(1, 1518);
    enable_receiver();
    EXPECT_TRUE(card.receive(plain_frame(200)));
    EXPECT_TRUE(card.receive(plain_frame(20)));
    for (const unsigned i : {0U, 1U}) {
        Bytes frame = received(i);
        EXPECT_EQ(frame.size(), i == 0 ? 204U : 64U);
        EXPECT_EQ(frame_check(frame), 0xdebb'20e3U); // what the register holds behind a right FCS
    }
}

TEST(FrameCheck, IsTheCrcOf8023) {
    constexpr std::array<std::uint8_t, 9> digits{'1', '2', '3', '4', '5', '6', '7', '8', '9'};
    EXPECT_EQ(~frame_check(digits), 0xcbf4'3926U);
}

TEST_F(Receiver, WithoutLinkNothingComes) {
    give_to_receive(0, 1514);
    enable_receiver();
    card.nic.set_link(false, card.now);
    card.receive(plain_frame(60));
    EXPECT_EQ(card.nic.statistics.lost_link_down, 1U);
    card.nic.set_link(true, card.now);
    card.receive(plain_frame(60));
    EXPECT_EQ(card.nic.statistics.received_frames, 1U);
}

TEST_F(Receiver, LoopbackOfTheMac) {
    card.set(at::txcfg, txcfg_mlb);
    card.nic.set_link(false, card.now); // it needs no cable
    give_to_receive(0, 1514);
    enable_receiver();
    give_to_send(0, plain_frame(333));
    EXPECT_TRUE(send().empty());
    EXPECT_EQ(received(0), plain_frame(333));
    EXPECT_EQ(card.nic.statistics.looped_frames, 1U);
    EXPECT_EQ(card.nic.statistics.sent_frames, 0U);
    card.nic.set_link(true, card.now);
    card.clear(at::txcfg, txcfg_mlb);
    give_to_send(1, plain_frame(333));
    EXPECT_EQ(send().size(), 1U);
}

} // namespace
} // namespace previrt
