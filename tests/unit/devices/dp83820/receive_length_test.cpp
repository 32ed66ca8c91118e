// SPDX-License-Identifier: BSD-2-Clause
#include "tests/unit/devices/dp83820/card.hpp"

namespace previrt {
namespace {

using namespace dp83820;

constexpr std::uint32_t to_this_card = 1U << cmdsts_rx_destination_shift;

using ReceivedLength = CardTest;

TEST_F(ReceivedLength, LongFramesAreCutUnlessAccepted) {
    give_to_receive(0, 9014);
    give_to_receive(1, 9014);
    give_to_receive(2, 9014);
    enable_receiver();
    EXPECT_TRUE(card.receive(plain_frame(9014)));
    EXPECT_EQ(received(0), plain_frame(9014));
    card.write(at::mibc, 0);
    card.clear(at::rxcfg, rxcfg_alp);
    EXPECT_TRUE(card.receive(plain_frame(1515)));
    EXPECT_EQ(card.nic.statistics.refused_by_length, 1U);
    card.set(at::rxcfg, rxcfg_aep);
    EXPECT_TRUE(card.receive(plain_frame(1515)));
    EXPECT_EQ(receive_cmdsts(1), cmdsts_own | cmdsts_rx_long | to_this_card | 1514U);
    EXPECT_EQ(card.read(at::isr) & (isr_rxerr | isr_rxok), isr_rxerr | isr_rxok);
    EXPECT_EQ(card.read(0x74), 2U);
    EXPECT_EQ(card.read(0x60), 2U);
    EXPECT_TRUE(card.receive(plain_frame(1514)));
    EXPECT_EQ(received(2), plain_frame(1514));
}

TEST_F(ReceivedLength, NoFrameIsLongerThanTheLargest) {
    give_to_receive(0, 0xffff);
    enable_receiver();
    EXPECT_TRUE(card.receive(plain_frame(Dp83820::largest_frame + 1)));
    EXPECT_EQ(card.nic.statistics.refused_by_length, 1U);
    EXPECT_TRUE(card.receive(plain_frame(Dp83820::largest_frame)));
    EXPECT_EQ(receive_cmdsts(0) & cmdsts_size, Dp83820::largest_frame);
}

TEST_F(ReceivedLength, ALengthThatDoesNotFitIsToldOrRefused) {
    const Bytes good = padded(make_frame(card_address, 38, pattern(38))); // a bridge's, for example
    const Bytes exact = make_frame(card_address, 200, pattern(200));
    const Bytes bad = make_frame(card_address, 200, pattern(199));
    for (unsigned i = 0; i < 4; ++i) {
        give_to_receive(i, 1514);
    }
    card.write(at::mibc, 0);
    enable_receiver();
    for (const Bytes& frame : {good, exact, bad}) {
        EXPECT_TRUE(card.receive(frame));
    }
    EXPECT_EQ(receive_cmdsts(0) & (cmdsts_ok | cmdsts_rx_irl), cmdsts_ok);
    EXPECT_EQ(receive_cmdsts(1) & (cmdsts_ok | cmdsts_rx_irl), cmdsts_ok);
    EXPECT_EQ(receive_cmdsts(2) & (cmdsts_ok | cmdsts_rx_irl), cmdsts_ok | cmdsts_rx_irl);
    card.clear(at::rxcfg, rxcfg_airl);
    EXPECT_TRUE(card.receive(bad));
    EXPECT_EQ(card.nic.statistics.refused_by_length, 1U);
    card.set(at::rxcfg, rxcfg_aep);
    EXPECT_TRUE(card.receive(bad));
    EXPECT_EQ(receive_cmdsts(3) & (cmdsts_ok | cmdsts_rx_irl), cmdsts_rx_irl);
    EXPECT_EQ(card.read(0x78), 3U);
}

} // namespace
} // namespace previrt
