// SPDX-License-Identifier: BSD-2-Clause
#include "tests/unit/devices/dp83820/card.hpp"

namespace previrt {
namespace {

using namespace dp83820;

using Transmitter = CardTest;

TEST_F(Transmitter, SendsWhatTheGuestOwnsNoMore) {
    give_to_send(0, plain_frame(60, 1));
    give_to_send(1, plain_frame(1514, 2));
    const std::vector<Bytes> frames = send();
    ASSERT_EQ(frames.size(), 2U);
    EXPECT_EQ(frames[0], plain_frame(60, 1));
    EXPECT_EQ(frames[1], plain_frame(1514, 2));
    EXPECT_EQ(transmit_cmdsts(0), cmdsts_ok | 60U);
    EXPECT_EQ(transmit_cmdsts(1), cmdsts_ok | 1514U);
    EXPECT_EQ(card.read(at::txdp), transmit_at(2));
    EXPECT_EQ(card.read(at::cr), 0U);
    EXPECT_EQ(card.read(at::isr), isr_txok | isr_txidle);
    EXPECT_EQ(card.nic.statistics.sent_frames, 2U);
    EXPECT_EQ(card.nic.statistics.sent_bytes, 1574U);
}

TEST_F(Transmitter, IsActiveUntilTheVmmHasComeByAgain) {
    give_to_send(0, plain_frame(60));
    EXPECT_FALSE(card.nic.transmit_requested());
    card.write(at::cr, cr_txe);
    EXPECT_TRUE(card.nic.transmit_requested());
    EXPECT_EQ(card.read(at::cr), cr_txe);
    EXPECT_EQ(card.read(at::isr), 0U);
    card.write(at::cr, cr_txe); // while active: nothing
    EXPECT_EQ(card.sent().size(), 1U);
    EXPECT_FALSE(card.nic.transmit_requested());
}

TEST_F(Transmitter, EveryFailedEnableTellsThatItIsIdle) {
    for (unsigned round = 0; round < 3; ++round) {
        EXPECT_TRUE(send().empty());
        EXPECT_EQ(card.read(at::isr), isr_txidle);
        EXPECT_EQ(card.read(at::txdp), transmit_at(0));
    }
}

TEST_F(Transmitter, FragmentsMakeOneFrame) {
    const Bytes frame = plain_frame(1440);
    const std::vector<Bytes> pieces = cut(frame, 18);
    for (unsigned i = 0; i < pieces.size(); ++i) {
        give_to_send(i, pieces[i], i < 17 ? cmdsts_more : 0);
    }
    const std::vector<Bytes> frames = send();
    ASSERT_EQ(frames.size(), 1U);
    EXPECT_EQ(frames[0], frame);
    EXPECT_EQ(transmit_cmdsts(0), cmdsts_more | 80U);
    EXPECT_EQ(transmit_cmdsts(16), cmdsts_more | 80U);
    EXPECT_EQ(transmit_cmdsts(17), cmdsts_ok | 80U);
}

TEST_F(Transmitter, APacketThatIsNotAllThereWaitsForTheRest) {
    const Bytes frame = plain_frame(300);
    give_to_send(0, Bytes(frame.begin(), frame.begin() + 100), cmdsts_more);
    EXPECT_TRUE(send().empty());
    EXPECT_EQ(card.read(at::isr), isr_txidle);
    EXPECT_EQ(card.read(at::txdp), transmit_at(1)); // it resumes there
    give_to_send(1, Bytes(frame.begin() + 100, frame.begin() + 150), cmdsts_more);
    EXPECT_TRUE(send().empty());
    give_to_send(2, Bytes(frame.begin() + 150, frame.end()));
    const std::vector<Bytes> frames = send();
    ASSERT_EQ(frames.size(), 1U);
    EXPECT_EQ(frames[0], frame);
}

TEST_F(Transmitter, ANewListForgetsABegunPacket) {
    give_to_send(0, Bytes(100), cmdsts_more);
    EXPECT_TRUE(send().empty());
    give_to_send(5, plain_frame(80));
    card.write(at::txdp, transmit_at(5));
    const std::vector<Bytes> frames = send();
    ASSERT_EQ(frames.size(), 1U);
    EXPECT_EQ(frames[0], plain_frame(80));
}

TEST_F(Transmitter, InterruptsByDescriptorWhereAsked) {
    give_to_send(0, plain_frame(60), cmdsts_intr);
    give_to_send(1, plain_frame(60));
    send();
    EXPECT_EQ(card.read(at::isr), isr_txok | isr_txdesc | isr_txidle);
    EXPECT_EQ(transmit_cmdsts(0), cmdsts_intr | cmdsts_ok | 60U);
}

// As iPXE sends: one descriptor whose link is 0, and TXDP anew for every frame.
TEST_F(Transmitter, ALinkOf0EndsTheList) {
    for (unsigned round = 0; round < 3; ++round) {
        card.put(transmit_buffer(0), plain_frame(64, static_cast<std::uint8_t>(round)));
        layout.write(card.ram, transmit_at(0), 0, transmit_buffer(0), cmdsts_own | 64U);
        card.write(at::txdp, transmit_at(0));
        const std::vector<Bytes> frames = send();
        ASSERT_EQ(frames.size(), 1U);
        EXPECT_EQ(frames[0], plain_frame(64, static_cast<std::uint8_t>(round)));
        EXPECT_EQ(card.read(at::txdp), transmit_at(0));
        EXPECT_EQ(card.read(at::isr), isr_txok | isr_txidle);
    }
}

TEST_F(Transmitter, ADoneDescriptorIsNotReadAgainButItsLink) {
    card.put(transmit_buffer(0), plain_frame(64));
    layout.write(card.ram, transmit_at(0), 0, transmit_buffer(0), cmdsts_own | 64U);
    EXPECT_EQ(send().size(), 1U);
    layout.write(card.ram, transmit_at(0), 0, transmit_buffer(0), cmdsts_own | 64U);
    EXPECT_TRUE(send().empty());
    give_to_send(1, plain_frame(70));
    layout.write(card.ram, transmit_at(0), transmit_at(1), transmit_buffer(0), cmdsts_own | 64U);
    const std::vector<Bytes> frames = send();
    ASSERT_EQ(frames.size(), 1U);
    EXPECT_EQ(frames[0].size(), 70U);
}

TEST_F(Transmitter, AnOffTransmitterStaysAtItsDescriptor) {
    give_to_send(0, plain_frame(60));
    card.write(at::cr, cr_txe);
    card.write(at::cr, cr_txe | cr_txd);
    EXPECT_EQ(card.read(at::cr), 0U);
    EXPECT_TRUE(card.sent().empty());
    EXPECT_EQ(card.read(at::txdp), transmit_at(0));
    EXPECT_EQ(send().size(), 1U);
}

TEST_F(Transmitter, PadsIfToldSo) {
    give_to_send(0, plain_frame(30));
    card.set(at::txcfg, txcfg_atp);
    give_to_send(1, plain_frame(30));
    give_to_send(2, plain_frame(61));
    card.put(transmit_buffer(1) + 30, Bytes(100, 0xee)); // must not go out
    const std::vector<Bytes> frames = send();
    ASSERT_EQ(frames.size(), 3U);
    EXPECT_EQ(frames[1], padded(plain_frame(30)));
    EXPECT_EQ(frames[2].size(), 61U);
}

TEST_F(Transmitter, WithoutAtpAFrameIsAsLongAsTheGuestMadeIt) {
    card.clear(at::txcfg, txcfg_atp);
    give_to_send(0, plain_frame(30));
    give_to_send(1, Bytes(13)); // not even a header
    give_to_send(2, Bytes());
    const std::vector<Bytes> frames = send();
    ASSERT_EQ(frames.size(), 1U);
    EXPECT_EQ(frames[0], plain_frame(30));
    EXPECT_EQ(transmit_cmdsts(1), cmdsts_ok | 13U);
    EXPECT_EQ(card.nic.statistics.unsent_too_short, 2U);
}

TEST_F(Transmitter, TheGuestsOwnFcsIsTakenOff) {
    Bytes frame = plain_frame(100);
    append(frame, Bytes{1, 2, 3, 4});
    give_to_send(0, frame, cmdsts_crc);
    const std::vector<Bytes> frames = send();
    ASSERT_EQ(frames.size(), 1U);
    EXPECT_EQ(frames[0], plain_frame(100));
}

TEST_F(Transmitter, JumboFramesUpToTheLimit) {
    give_to_send(0, plain_frame(9014));
    give_to_send(1, plain_frame(Dp83820::largest_packet));
    give_to_send(2, plain_frame(Dp83820::largest_packet + 1));
    give_to_send(3, plain_frame(60));
    const std::vector<Bytes> frames = send();
    ASSERT_EQ(frames.size(), 3U);
    EXPECT_EQ(frames[0], plain_frame(9014));
    EXPECT_EQ(frames[1], plain_frame(Dp83820::largest_packet));
    EXPECT_EQ(frames[2].size(), 60U);
    EXPECT_EQ(transmit_cmdsts(2), cmdsts_tx_fifo_underrun | (Dp83820::largest_packet + 1));
    EXPECT_EQ(card.read(at::isr), isr_txok | isr_txerr | isr_txurn | isr_txidle);
    EXPECT_EQ(card.nic.statistics.unsent_too_long, 1U);
}

TEST_F(Transmitter, ADescriptorOfMaximalSizeIsTooLong) {
    layout.write(card.ram, transmit_at(0), transmit_at(1), transmit_buffer(0), cmdsts_own | 0xffffU);
    EXPECT_TRUE(send().empty());
    EXPECT_EQ(card.read(at::isr) & isr_txerr, isr_txerr);
}

TEST_F(Transmitter, WithoutLinkFramesAreGoneAsOnAnOpenCable) {
    card.nic.set_link(false, card.now);
    give_to_send(0, plain_frame(60));
    EXPECT_TRUE(send().empty());
    EXPECT_EQ(transmit_cmdsts(0), cmdsts_ok | 60U);
    EXPECT_EQ(card.nic.statistics.unsent_link_down, 1U);
}

TEST_F(Transmitter, NarrowDescriptorsWithoutExtendedStatus) {
    card.clear(at::cfg, cfg_extsts_en);
    card.write(at::vtcr, vtcr_vppti | vtcr_ppchk);
    // The word behind such a descriptor is not its own.
    give_to_send(0, plain_frame(60), 0, extsts_vpkt | extsts_ippkt | 0x1234U);
    const std::vector<Bytes> frames = send();
    ASSERT_EQ(frames.size(), 1U);
    EXPECT_EQ(frames[0], plain_frame(60));
}

TEST(WideDescriptors, ReachPast4GiB) {
    constexpr std::uint64_t base = 0x12'0000'0000;
    Card card(Transceiver::copper, base);
    const DescriptorLayout layout{.wide = true};
    card.set(at::cfg, cfg_extsts_en | cfg_m64addr);
    card.write(at::rfcr, rfcr_rfen | rfcr_aau);
    card.write(at::rxcfg, rxcfg_stripcrc);
    card.put(base + 0x2'0000, plain_frame(99));
    for (const std::uint64_t offset : {0x00U, 0x20U}) {
        layout.write(card.ram, base + 0x1000 + offset, base + 0x1020 + offset, base + 0x2'0000,
                     cmdsts_own | 99U);
        layout.write(card.ram, base + 0x2000 + offset, base + 0x2020 + offset, base + 0x3'0000, 1514);
    }
    card.write(at::txdp_hi, base >> 32U);
    card.write(at::txdp, 0x1000);
    card.write(at::rxdp_hi, base >> 32U);
    card.write(at::rxdp, 0x2000);
    card.write(at::cr, cr_txe | cr_rxe);
    EXPECT_EQ(card.sent(), std::vector<Bytes>(2, plain_frame(99)));
    EXPECT_EQ(card.read(at::txdp_hi), base >> 32U);
    EXPECT_EQ(card.read(at::txdp), 0x1040U);
    EXPECT_TRUE(card.receive(plain_frame(77)));
    EXPECT_EQ(card.get(base + 0x3'0000, 77), plain_frame(77));
    EXPECT_EQ(layout.cmdsts(card.ram, base + 0x2000) & cmdsts_size, 77U);
    EXPECT_EQ(card.read(at::rxdp_hi), base >> 32U);
}

} // namespace
} // namespace previrt
