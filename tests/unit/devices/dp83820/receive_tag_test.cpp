// SPDX-License-Identifier: BSD-2-Clause
// Tags and checksums when receiving.
#include "tests/unit/devices/dp83820/card.hpp"

namespace previrt {
namespace {

using namespace dp83820;

class Inspection : public CardTest {
protected:
    // extsts of the frame; nullopt if the guest did not get it.
    std::optional<std::uint32_t> judged(const Bytes& frame,
                                        Dp83820::Checksums checksums = Dp83820::Checksums::unverified) {
        give_to_receive(0, 9216);
        card.write(at::rxdp, receive_at(0));
        enable_receiver();
        EXPECT_TRUE(card.receive(frame, checksums));
        return (receive_cmdsts(0) & cmdsts_own) != 0 ? std::optional(receive_extsts(0)) : std::nullopt;
    }
};

TEST_F(Inspection, TellsWhatAFrameIs) {
    card.write(at::vrcr, vrcr_ipen);
    for (const std::size_t bytes : {0U, 1U, 5U, 100U, 1459U, 8900U}) {
        EXPECT_EQ(judged(ip_frame(tcp, pattern(bytes))), extsts_ippkt | extsts_tcppkt) << bytes;
        EXPECT_EQ(judged(ip_frame(udp, pattern(bytes))), extsts_ippkt | extsts_udppkt) << bytes;
    }
    EXPECT_EQ(judged(ip_frame(1, pattern(50))), extsts_ippkt);
    EXPECT_EQ(judged(make_frame(broadcast_address, 0x0806, pattern(46))), 0U);
    card.write(at::vrcr, 0);
    EXPECT_EQ(judged(ip_frame(tcp, pattern(50))), 0U);
}

TEST_F(Inspection, TellsWhatIsWrong) {
    card.write(at::vrcr, vrcr_ipen);
    Bytes frame = ip_frame(tcp, pattern(50));
    frame.back() ^= 0x40U;
    EXPECT_EQ(judged(frame), extsts_ippkt | extsts_tcppkt | extsts_tcperr);
    frame = ip_frame(udp, pattern(50));
    frame.back() ^= 0x40U;
    EXPECT_EQ(judged(frame), extsts_ippkt | extsts_udppkt | extsts_udperr);
    put_big_endian(frame, udp_checksum_offset, 0); // none
    EXPECT_EQ(judged(frame), extsts_ippkt | extsts_udppkt);
    frame = ip_frame(tcp, pattern(50));
    frame[ip_offset + 8] = 63;
    EXPECT_EQ(judged(frame), extsts_ippkt | extsts_iperr | extsts_tcppkt);
    frame = ip_frame(tcp, pattern(50));
    put_big_endian(frame, ip_offset + 2, 2000); // more than there is
    EXPECT_EQ(judged(frame), extsts_ippkt | extsts_iperr);
}

TEST_F(Inspection, SaysNothingOfTheTransportOfFragments) {
    card.write(at::vrcr, vrcr_ipen);
    EXPECT_EQ(judged(ip_frame(udp, pattern(50), 0x2000)), extsts_ippkt);
    EXPECT_EQ(judged(ip_frame(tcp, pattern(50), 0x0005)), extsts_ippkt);
    EXPECT_EQ(judged(ip_frame(udp, pattern(50), 0x4000)), extsts_ippkt | extsts_udppkt); // DF is none
}

TEST_F(Inspection, TrustsWhereTold) {
    card.write(at::vrcr, vrcr_ipen);
    Bytes frame = ip_frame(tcp, pattern(50));
    put_big_endian(frame, tcp_checksum_offset, 0);
    EXPECT_EQ(judged(frame, Dp83820::Checksums::trusted), extsts_ippkt | extsts_tcppkt);
}

TEST_F(Inspection, RefusesByChecksumWhereTold) {
    Bytes bad_header = ip_frame(tcp, pattern(50));
    bad_header[ip_offset + 8] = 63;
    Bytes bad_tcp = ip_frame(tcp, pattern(50));
    bad_tcp.back() ^= 1U;
    Bytes bad_udp = ip_frame(udp, pattern(50));
    bad_udp.back() ^= 1U;
    card.write(at::vrcr, vrcr_ipen | vrcr_ripe);
    EXPECT_FALSE(judged(bad_header));
    EXPECT_TRUE(judged(bad_tcp));
    card.write(at::vrcr, vrcr_ipen | vrcr_rtcpe);
    EXPECT_FALSE(judged(bad_tcp));
    EXPECT_TRUE(judged(bad_udp));
    card.write(at::vrcr, vrcr_ipen | vrcr_rudpe);
    EXPECT_FALSE(judged(bad_udp));
    EXPECT_TRUE(judged(bad_header));
    EXPECT_EQ(card.nic.statistics.refused_by_checksum, 3U);
}

TEST_F(Inspection, StripsTags) {
    card.write(at::vrcr, vrcr_vtden | vrcr_vtren | vrcr_ipen);
    const Bytes frame = ip_frame(tcp, pattern(200));
    EXPECT_EQ(judged(with_tag(frame, 0x6123)), extsts_vpkt | 0x2361U | extsts_ippkt | extsts_tcppkt);
    EXPECT_EQ(received(0), frame);
    EXPECT_EQ(judged(frame), extsts_ippkt | extsts_tcppkt);
    EXPECT_EQ(received(0), frame);
}

// A shortest frame is short when its tag is gone; the guest gets it nevertheless.
TEST_F(Inspection, AStrippedShortFrameIsGood) {
    card.write(at::vrcr, vrcr_vtden | vrcr_vtren);
    EXPECT_EQ(judged(with_tag(plain_frame(42), 5)), extsts_vpkt | 0x0500U);
    EXPECT_EQ(receive_cmdsts(0) & (cmdsts_ok | cmdsts_size), cmdsts_ok | 56U);
    Bytes expected = plain_frame(42);
    expected.resize(56);
    EXPECT_EQ(received(0), expected);
}

TEST_F(Inspection, DetectsTagsWithoutStripping) {
    card.write(at::vrcr, vrcr_vtden);
    const Bytes frame = with_tag(plain_frame(100), 0x0007);
    EXPECT_EQ(judged(frame), extsts_vpkt | 0x0700U);
    EXPECT_EQ(received(0), frame);
    card.write(at::vrcr, 0);
    EXPECT_EQ(judged(frame), 0U);
    EXPECT_EQ(received(0), frame);
    card.write(at::vrcr, vrcr_vtden);
    card.write(at::vdr, 0xa888); // 88a8 as the wire has it
    EXPECT_EQ(judged(frame), 0U);
}

TEST_F(Inspection, RefusesByTag) {
    const Bytes frame = plain_frame(100);
    card.write(at::vrcr, vrcr_vtden | vrcr_dvtf);
    EXPECT_FALSE(judged(with_tag(frame, 1)));
    EXPECT_TRUE(judged(frame));
    card.write(at::vrcr, vrcr_vtden | vrcr_dutf);
    EXPECT_TRUE(judged(with_tag(frame, 1)));
    EXPECT_FALSE(judged(frame));
    EXPECT_EQ(card.nic.statistics.refused_by_tag, 2U);
}

TEST_F(Inspection, ATagDoesNotMakeAFrameLong) {
    card.clear(at::rxcfg, rxcfg_alp);
    card.write(at::vrcr, vrcr_vtden | vrcr_vtren);
    EXPECT_TRUE(judged(with_tag(plain_frame(1514), 1)));
    EXPECT_EQ(received(0), plain_frame(1514));
    EXPECT_FALSE(judged(with_tag(plain_frame(1515), 1)));
    card.set(at::rxcfg, rxcfg_aep);
    EXPECT_TRUE(judged(with_tag(plain_frame(1515), 1)));
    Bytes cut = plain_frame(1515);
    cut.pop_back();
    EXPECT_EQ(received(0), cut);
}

TEST_F(Inspection, StripsTagAndKeepsFcs) {
    card.write(at::vrcr, vrcr_vtden | vrcr_vtren);
    card.clear(at::rxcfg, rxcfg_stripcrc);
    EXPECT_TRUE(judged(with_tag(plain_frame(40), 1)));
    EXPECT_EQ(receive_cmdsts(0) & cmdsts_size, 60U);
}

} // namespace
} // namespace previrt
