// SPDX-License-Identifier: BSD-2-Clause
// The card as FreeBSD's nge goes about it: EEPROM and PHY by MEAR, closed rings of 32-bit descriptors,
// polling.
#include "tests/unit/devices/dp83820/serial_pins.hpp"

namespace previrt {
namespace {

using namespace dp83820;
using namespace ethernet;

class AsFreeBsd : public testing::Test {
protected:
    static constexpr unsigned slots = 16;
    static constexpr std::uint32_t stride = 16;
    static constexpr std::uint32_t transmit_list = 0x1000;
    static constexpr std::uint32_t receive_list = 0x2000;
    static constexpr std::uint32_t transmit_buffers = 0x1'0000;
    static constexpr std::uint32_t receive_buffers = 0x4'0000;
    static constexpr std::uint32_t buffer_stride = 0x1000;
    static constexpr std::uint32_t buffer_bytes = 2040;
    static constexpr unsigned patience = 1000; // microseconds, and reads

    void SetUp() override {
        reset();
        open();
        link_changed();
    }

    void reset() {
        card.set(at::cr, cr_rst);
        EXPECT_EQ(card.read(at::cr) & cr_rst, 0U);
        card.write(at::ccsr, 1U << 15U); // PMESTS
        card.write(at::ccsr, 0);
        card.write(at::wcsr, 0);
        card.clear(at::cfg, cfg_m64addr | cfg_data64_en);
    }

    void open() {
        card.write(at::rfcr, 0);
        for (std::uint32_t i = 0; i < 6; i += 2) {
            card.write(at::rfcr, i);
            card.write(at::rfdr, card_address[i] | (static_cast<std::uint32_t>(card_address[i + 1]) << 8U));
        }
        for (unsigned i = 0; i < slots; ++i) {
            layout.write(card.ram, receive_list + (i * stride), receive_list + ((i + 1) % slots * stride),
                         receive_buffers + (i * buffer_stride), buffer_bytes);
        }
        clear_transmit_list();
        filter();
        card.write(at::pqcr, 0);
        card.write(at::pcr, 0x6154'ffff);
        write_lists();
        card.write(at::rxcfg, 0xdc70'0010 | rxcfg_stripcrc); // AEP, ARP, RX_FD, ALP
        card.write(at::vrcr, 0);
        card.set(at::vrcr, vrcr_ipen);
        card.set(at::vrcr, vrcr_vtden);
        card.set(at::vrcr, vrcr_vtren);
        card.write(at::txcfg, 0xd070'1020);
        card.write(at::vtcr, vtcr_ppchk);
        card.set(at::vtcr, vtcr_vppti);
        card.set(at::cfg, cfg_pint_spdsts | cfg_pint_lnksts | cfg_pint_dupsts | cfg_extsts_en);
        card.write(at::ihr, 1);
        card.write(at::mibc, (card.read(at::mibc) & ~mibc_frz) | mibc_aclr);
        card.write(at::imr, causes);
        card.write(at::ier, 1);
    }

    void clear_transmit_list() {
        for (unsigned i = 0; i < slots; ++i) {
            layout.write(card.ram, transmit_list + (i * stride), transmit_list + ((i + 1) % slots * stride),
                         0, 0);
        }
        transmit_next = 0;
    }

    void write_lists() {
        card.write(at::rxdp_hi, 0);
        card.write(at::rxdp, receive_list);
        card.write(at::txdp_hi, 0);
        card.write(at::txdp, transmit_list);
    }

    void filter() {
        card.clear(at::rfcr, rfcr_rfen);
        for (std::uint32_t place = 0x100; place < 0x200; place += 2) {
            card.write(at::rfcr, place);
            card.write(at::rfdr, 0);
        }
        card.write(at::rfcr, 0x17e); // 01:00:5e:00:00:01
        card.set(at::rfdr, 1U << 13U);
        constexpr std::uint32_t wanted = rfcr_aarp | rfcr_apm | rfcr_aab | rfcr_mhen;
        card.write(at::rfcr, wanted);
        card.write(at::rfcr, wanted | rfcr_rfen);
    }

    // Stops both engines, resets them, waits, and starts the receiver anew.
    void link_changed() {
        const std::uint32_t running = card.read(at::cr);
        if ((running & (cr_txe | cr_rxe)) != 0) {
            card.write(at::cr, (running & ~(cr_txe | cr_rxe)) | cr_txd | cr_rxd);
            EXPECT_EQ(card.read(at::cr) & (cr_txe | cr_rxe), 0U);
        }
        card.set(at::txcfg, 0xc000'0000);
        card.set(at::cfg, cfg_mode_1000);
        card.set(at::cr, cr_txr | cr_rxr);
        std::uint32_t seen = 0;
        for (unsigned i = 0; i < patience && seen != (isr_txrcmp | isr_rxrcmp); ++i) {
            seen |= card.read(at::isr) & (isr_txrcmp | isr_rxrcmp);
        }
        EXPECT_EQ(seen, isr_txrcmp | isr_rxrcmp);
        receive_next = 0;
        write_lists();
        clear_transmit_list();
        card.set(at::cr, cr_rxe);
        EXPECT_EQ(card.read(at::cr) & cr_rxe, cr_rxe);
        card.serve_receiver();
    }

    // The checksums to do stand with the first descriptor, the tag with the last.
    void transmit(const std::vector<Bytes>& fragments, std::uint32_t checksums = 0, std::uint32_t tag = 0) {
        const unsigned first = transmit_next;
        for (std::size_t i = 0; i < fragments.size(); ++i) {
            const std::uint32_t buffer = transmit_buffers + (transmit_next * buffer_stride);
            card.put(buffer, fragments[i]);
            const bool last = i + 1 == fragments.size();
            layout.write(card.ram, transmit_list + (transmit_next * stride),
                         transmit_list + ((transmit_next + 1) % slots * stride), buffer,
                         (last ? 0 : cmdsts_more) | (i > 0 ? cmdsts_own : 0) |
                             static_cast<std::uint32_t>(fragments[i].size()),
                         (i == 0 ? checksums : 0) | (last ? tag : 0));
            transmit_next = (transmit_next + 1) % slots;
        }
        const std::uint32_t at_first = transmit_list + (first * stride);
        card.ram.store(layout.cmdsts_at(at_first), layout.cmdsts(card.ram, at_first) | cmdsts_own);
        card.set(at::cr, cr_txe);
    }

    void interrupt() {
        card.write(at::ier, 0);
        for (std::uint32_t isr = card.read(at::isr); (isr & causes) != 0; isr = card.read(at::isr)) {
            take_received();
            if ((isr & isr_rxidle) != 0) {
                card.set(at::cr, cr_rxe);
                card.serve_receiver();
            }
        }
        card.write(at::ier, 1);
    }

    void take_received() {
        while (true) {
            const std::uint32_t place = receive_list + (receive_next * stride);
            const std::uint32_t cmdsts = layout.cmdsts(card.ram, place);
            if ((cmdsts & cmdsts_own) == 0) {
                return;
            }
            append(partial, card.get(receive_buffers + (receive_next * buffer_stride), cmdsts & cmdsts_size));
            if ((cmdsts & cmdsts_more) == 0) {
                EXPECT_EQ(cmdsts & cmdsts_ok, cmdsts_ok);
                received.push_back(std::move(partial));
                partial.clear();
            }
            card.ram.store(layout.cmdsts_at(place), buffer_bytes);
            receive_next = (receive_next + 1) % slots;
        }
    }

    void pass_time() {
        card.now += 1'000'000;
        if (card.line()) {
            interrupt();
        }
    }

    static constexpr std::uint32_t causes = isr_rxok | isr_rxerr | isr_rxidle | isr_rxorn | isr_txok |
                                            isr_txdesc | isr_txerr | isr_txidle | isr_phy | 1U << 19U;

    Card card;
    DescriptorLayout layout;
    unsigned transmit_next = 0;
    unsigned receive_next = 0;
    Bytes partial;
    std::vector<Bytes> received;
};

TEST_F(AsFreeBsd, FindsItsAddressInTheEeprom) {
    EepromPins eeprom(card);
    MacAddress address{};
    for (std::size_t i = 0; i < 3; ++i) {
        const std::uint16_t word = eeprom.read(0xc - static_cast<std::uint32_t>(i));
        address[2 * i] = static_cast<std::uint8_t>(word);
        address[(2 * i) + 1] = static_cast<std::uint8_t>(word >> 8U);
    }
    EXPECT_EQ(address, card_address);
}

TEST_F(AsFreeBsd, FindsThePhyAndItsMode) {
    MiiPins mii(card);
    unsigned found = 0;
    for (std::uint32_t phy = 0; phy < 32; ++phy) {
        found += mii.read(phy, 1).value_or(0) != 0 ? 1 : 0;
    }
    EXPECT_EQ(found, 1U);
    mii.write(1, 0, 0x8000);
    EXPECT_EQ(mii.read(1, 0).value_or(0x8000) & 0x8000U, 0U);
    mii.write(1, 9, 0x0300);
    mii.write(1, 4, 0x01e1);
    mii.write(1, 0, 0x1200);
    EXPECT_EQ(mii.read(1, 1).value_or(0) & 0x24U, 0x24U);
    EXPECT_EQ(mii.read(1, 10).value_or(0) & 0x0800U, 0x0800U); // 1000BASE-T, full duplex
}

TEST_F(AsFreeBsd, Sends) {
    const Bytes frame = ip_frame(udp, pattern(1000));
    Bytes given = frame;
    put_big_endian(given, udp_checksum_offset, pseudo_sum(frame, udp, frame.size() - transport_offset));
    transmit({Bytes(given.begin(), given.begin() + 42), Bytes(given.begin() + 42, given.end())},
             extsts_ippkt | extsts_udppkt, extsts_vpkt | 0x0700U);
    transmit({plain_frame(60)});
    const std::vector<Bytes> frames = card.sent();
    ASSERT_EQ(frames.size(), 2U);
    EXPECT_EQ(frames[0], with_tag(frame, 0x0007));
    EXPECT_EQ(frames[1], plain_frame(60));
    pass_time();
    EXPECT_FALSE(card.line());
}

TEST_F(AsFreeBsd, ReceivesJumboFramesInAClosedRing) {
    std::vector<Bytes> all;
    for (unsigned i = 0; i < 60; ++i) {
        all.push_back(plain_frame(i % 3 == 0 ? 9014 : 60 + (i * 40), static_cast<std::uint8_t>(i)));
        ASSERT_TRUE(card.receive(all.back()));
        if (i % 5 == 4) {
            pass_time();
        }
    }
    pass_time();
    pass_time();
    EXPECT_EQ(received, all);
    EXPECT_EQ(card.read(0x68), 0U); // missed
}

TEST_F(AsFreeBsd, GoesOnWhereTheClosedRingWasFull) {
    std::vector<Bytes> all;
    for (unsigned i = 0; i < slots + 5; ++i) {
        all.push_back(plain_frame(100 + i));
        ASSERT_TRUE(card.receive(all.back()));
    }
    for (unsigned i = 0; i < 5; ++i) {
        pass_time();
    }
    EXPECT_EQ(received, all);
    EXPECT_EQ(card.read(at::cr), cr_rxe);
}

TEST_F(AsFreeBsd, TakesTheGroupsOfItsHash) {
    ASSERT_TRUE(card.receive(plain_frame(60, 1, all_hosts_address)));
    ASSERT_TRUE(card.receive(plain_frame(60, 2, {0x01, 0x00, 0x5e, 0x7f, 0xff, 0xfa})));
    ASSERT_TRUE(card.receive(plain_frame(60, 3, broadcast_address)));
    pass_time();
    EXPECT_EQ(received.size(), 2U);
    EXPECT_EQ(card.nic.statistics.refused_by_filter, 1U);
}

TEST_F(AsFreeBsd, CountsWhatItMissed) {
    unsigned lost = 0;
    for (unsigned i = 0; i < 100; ++i) {
        lost += card.receive(plain_frame(1514)) ? 0 : 1;
    }
    EXPECT_GT(lost, 0U);
    EXPECT_EQ(card.read(0x68), lost);
    EXPECT_EQ(card.read(0x60), lost);
}

TEST_F(AsFreeBsd, LinkFlapUnderTraffic) {
    for (unsigned round = 0; round < 3; ++round) {
        ASSERT_TRUE(card.receive(plain_frame(200)));
        transmit({plain_frame(60)});
        card.nic.set_link(false, card.now);
        EXPECT_TRUE(card.sent().empty());
        pass_time();
        card.nic.set_link(true, card.now);
        pass_time();
        link_changed();
        transmit({plain_frame(61)});
        EXPECT_EQ(card.sent(), std::vector<Bytes>{plain_frame(61)});
        ASSERT_TRUE(card.receive(plain_frame(201)));
        pass_time();
        EXPECT_EQ(received.back(), plain_frame(201));
    }
    EXPECT_EQ(card.nic.statistics.unsent_link_down, 3U);
}

} // namespace
} // namespace previrt
