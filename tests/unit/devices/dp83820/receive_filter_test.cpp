// SPDX-License-Identifier: BSD-2-Clause
#include "tests/unit/devices/dp83820/card.hpp"

namespace previrt {
namespace {

using namespace dp83820;
using namespace ethernet;

constexpr MacAddress other_group{0x01, 0x00, 0x5e, 0x7f, 0xff, 0xfa};

class Filter : public CardTest {
protected:
    // DEST; 0 is rejected.
    std::uint32_t destination(std::uint32_t rfcr, const Bytes& frame) {
        card.write(at::rfcr, rfcr);
        give_to_receive(0, 1514);
        card.write(at::rxdp, receive_at(0));
        enable_receiver();
        EXPECT_TRUE(card.receive(frame));
        const std::uint32_t cmdsts = receive_cmdsts(0);
        return (cmdsts & cmdsts_own) != 0 ? (cmdsts >> cmdsts_rx_destination_shift) & 3U : 0;
    }
    std::uint32_t destination(std::uint32_t rfcr, const MacAddress& to) {
        return destination(rfcr, plain_frame(60, 1, to));
    }
};

TEST_F(Filter, OffItTakesNothing) {
    EXPECT_EQ(destination(rfcr_aab | rfcr_aam | rfcr_aau | rfcr_apm, card_address), 0U);
    EXPECT_EQ(destination(rfcr_rfen, card_address), 0U);
    EXPECT_EQ(card.nic.statistics.refused_by_filter, 2U);
}

TEST_F(Filter, TakesByKindOfDestination) {
    EXPECT_EQ(destination(rfcr_rfen | rfcr_apm, card_address), 1U);
    EXPECT_EQ(destination(rfcr_rfen | rfcr_apm, other_address), 0U);
    EXPECT_EQ(destination(rfcr_rfen | rfcr_aau, other_address), 1U);
    EXPECT_EQ(destination(rfcr_rfen | rfcr_aam, all_hosts_address), 2U);
    EXPECT_EQ(destination(rfcr_rfen | rfcr_aam, broadcast_address), 0U);
    EXPECT_EQ(destination(rfcr_rfen | rfcr_aab, broadcast_address), 3U);
    EXPECT_EQ(destination(rfcr_rfen | rfcr_aab | rfcr_aau, all_hosts_address), 0U);
}

TEST_F(Filter, PatternsThatNobodySetMatchNothing) {
    EXPECT_EQ(destination(0x8780'0000, other_address), 0U); // RFEN, APAT3 to APAT0
}

TEST_F(Filter, TakesArpForAnybody) {
    EXPECT_EQ(destination(rfcr_rfen | rfcr_aarp, make_frame(broadcast_address, 0x0806, pattern(46))), 3U);
    EXPECT_EQ(destination(rfcr_rfen | rfcr_aarp, make_frame(other_address, 0x0806, pattern(46))), 1U);
    EXPECT_EQ(destination(rfcr_rfen | rfcr_aarp, make_frame(broadcast_address, 0x0800, pattern(46))), 0U);
}

TEST_F(Filter, IgnoresTheLocalBitIfTold) {
    MacAddress address = card_address;
    address[0] ^= 2U;
    EXPECT_EQ(destination(rfcr_rfen | rfcr_apm, address), 0U);
    EXPECT_EQ(destination(rfcr_rfen | rfcr_apm | rfcr_ulm, address), 1U);
    address[5] ^= 1U;
    EXPECT_EQ(destination(rfcr_rfen | rfcr_apm | rfcr_ulm, address), 0U);
}

TEST_F(Filter, HashOfGroups) {
    card.write(at::rfcr, 0x17e);
    card.write(at::rfdr, 1U << 13U);
    EXPECT_EQ(card.read(at::rfdr), 1U << 13U);
    EXPECT_EQ(destination(rfcr_rfen | rfcr_mhen, all_hosts_address), 2U);
    EXPECT_EQ(destination(rfcr_rfen | rfcr_mhen, other_group), 0U);
    EXPECT_EQ(destination(rfcr_rfen | rfcr_uhen, all_hosts_address), 0U);
    EXPECT_EQ(destination(rfcr_rfen, all_hosts_address), 0U);
}

// Linux' ether_crc(), bit by bit, as FreeBSD uses it: another way to the same hash.
TEST_F(Filter, HashOfASingleAddress) {
    std::uint32_t crc = 0xffff'ffff;
    for (const std::uint8_t byte : other_address) {
        for (unsigned bit = 0; bit < 8; ++bit) {
            const bool carry = ((crc >> 31U) ^ ((byte >> bit) & 1U)) != 0;
            crc = (crc << 1U) ^ (carry ? 0x04c1'1db7U : 0U);
        }
    }
    const std::uint32_t hash = crc >> 21U;
    card.write(at::rfcr, 0x100 + (2 * (hash >> 4U)));
    card.write(at::rfdr, 1U << (hash & 15U));
    EXPECT_EQ(destination(rfcr_rfen | rfcr_uhen, other_address), 1U);
    EXPECT_EQ(destination(rfcr_rfen | rfcr_uhen, card_address), 0U);
}

TEST_F(Filter, PerfectMatchCanBeWritten) {
    for (std::uint32_t i = 0; i < 6; i += 2) {
        card.write(at::rfcr, i);
        EXPECT_EQ(card.read(at::rfdr), card_address[i] | (card_address[i + 1] << 8U));
        card.write(at::rfdr, other_address[i] | (static_cast<std::uint32_t>(other_address[i + 1]) << 8U));
    }
    EXPECT_EQ(destination(rfcr_rfen | rfcr_apm, other_address), 1U);
    EXPECT_EQ(destination(rfcr_rfen | rfcr_apm, card_address), 0U);
}

TEST_F(Filter, RfcrHoldsEnablesAndAddress) {
    card.write(at::rfcr, 0xffff'ffff);
    EXPECT_EQ(card.read(at::rfcr), 0xfff8'03ffU);
    card.write(at::rfcr, 0x4);
    EXPECT_EQ(card.read(at::rfcr), 4U);
}

TEST_F(Filter, PatternsAreNotModelled) {
    card.write(at::rfcr, 6);
    EXPECT_EQ(card.read(at::rfdr), 0U);
    card.write(at::rfdr, 0);
    EXPECT_FALSE(card.nic.write(at::rfdr, 1, card.now));
    card.write(at::rfcr, 0x200);
    EXPECT_FALSE(card.nic.write(at::rfdr, 0, card.now));
    EXPECT_FALSE(card.nic.read(at::rfdr, *card.function, card.now));
    card.write(at::rfcr, 0xa);
    card.write(at::rfdr, 0x1234); // SecureOn
    EXPECT_EQ(card.read(at::rfdr), 0x1234U);
}

} // namespace
} // namespace previrt
