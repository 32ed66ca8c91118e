// SPDX-License-Identifier: BSD-2-Clause
// Tags and checksums when sending.
#include "tests/unit/devices/dp83820/card.hpp"

namespace previrt {
namespace {

using namespace dp83820;

constexpr std::uint16_t swapped(std::uint16_t value) {
    return static_cast<std::uint16_t>((value << 8U) | (value >> 8U));
}

class Offload : public CardTest {
protected:
    Bytes sent_with(const Bytes& frame, std::uint32_t extsts) {
        card.write(at::txdp, transmit_at(0));
        give_to_send(0, frame, 0, extsts);
        const std::vector<Bytes> frames = send();
        EXPECT_EQ(frames.size(), 1U);
        return frames.empty() ? Bytes{} : frames[0];
    }

    // As Linux hands a packet over: the sum of the pseudo header is in the checksum's place.
    static Bytes unfinished(Bytes frame, std::uint8_t protocol) {
        const std::size_t bytes = frame.size() - transport_offset;
        put_big_endian(frame, protocol == udp ? udp_checksum_offset : tcp_checksum_offset,
                       pseudo_sum(frame, protocol, bytes));
        return frame;
    }
};

TEST_F(Offload, FillsInChecksumsPerPacket) {
    card.write(at::vtcr, vtcr_ppchk);
    for (const std::size_t bytes : {0U, 1U, 2U, 7U, 8U, 9U, 100U, 1459U, 1460U, 8900U}) {
        const Bytes tcp_frame = ip_frame(tcp, pattern(bytes));
        EXPECT_EQ(sent_with(unfinished(tcp_frame, tcp), extsts_ippkt | extsts_tcppkt), tcp_frame) << bytes;
        const Bytes udp_frame = ip_frame(udp, pattern(bytes, 9));
        EXPECT_EQ(sent_with(unfinished(udp_frame, udp), extsts_ippkt | extsts_udppkt), udp_frame) << bytes;
    }
}

TEST_F(Offload, FillsInTheHeadersChecksum) {
    card.write(at::vtcr, vtcr_ppchk);
    const Bytes frame = ip_frame(tcp, pattern(50));
    Bytes given = frame;
    put_big_endian(given, ip_checksum_offset, 0xabcd);
    EXPECT_EQ(sent_with(given, extsts_ippkt), frame);
    EXPECT_EQ(sent_with(given, extsts_tcppkt), given);
}

TEST_F(Offload, DoesNothingUnlessTold) {
    Bytes frame = ip_frame(tcp, pattern(50));
    put_big_endian(frame, ip_checksum_offset, 0xabcd);
    put_big_endian(frame, tcp_checksum_offset, 0xabcd);
    EXPECT_EQ(sent_with(frame, extsts_ippkt | extsts_tcppkt), frame); // VTCR does not say PPCHK
    card.write(at::vtcr, vtcr_ppchk);
    EXPECT_EQ(sent_with(frame, 0), frame);
    EXPECT_EQ(sent_with(frame, extsts_udppkt), frame); // it is none
}

TEST_F(Offload, FillsInAllIfGlobal) {
    card.write(at::vtcr, vtcr_gchk);
    const Bytes frame = ip_frame(udp, pattern(50));
    Bytes given = unfinished(frame, udp);
    put_big_endian(given, ip_checksum_offset, 0);
    EXPECT_EQ(sent_with(given, 0), frame);
}

// A datagram whose checksum comes to 0 is sent with its other form: 0 says that there is none.
TEST_F(Offload, NoUdpChecksumOf0) {
    card.write(at::vtcr, vtcr_ppchk);
    Bytes frame = ip_frame(udp, Bytes{0, 0});
    put_big_endian(frame, transport_offset + 8, get_big_endian(frame, udp_checksum_offset));
    put_big_endian(frame, udp_checksum_offset, 0);
    const Bytes result = sent_with(frame, extsts_udppkt);
    EXPECT_EQ(get_big_endian(result, udp_checksum_offset), 0xffff);
}

// To who takes it; then the sum of the pseudo header is in its place, whatever the guest has put there.
TEST_F(Offload, LeavesWhatIsTaken) {
    card.write(at::vtcr, vtcr_ppchk);
    std::array<std::uint8_t, Dp83820::transmit_room> room{};
    const auto left_of = [&](const Bytes& frame, std::uint32_t extsts) {
        card.write(at::txdp, transmit_at(0));
        give_to_send(0, frame, 0, extsts);
        card.write(at::cr, cr_txe);
        const auto sent = card.nic.transmit(card.ram.memory(), room, Dp83820::SentChecksums::left, card.now);
        EXPECT_EQ(sent.outcome, Dp83820::Outcome::frame);
        return sent;
    };
    for (const std::uint8_t protocol : {tcp, udp}) {
        const Bytes frame = ip_frame(protocol, pattern(101));
        const auto sent = left_of(frame, extsts_ippkt | extsts_tcppkt | extsts_udppkt);
        EXPECT_EQ(sent.left.checksum_start, transport_offset);
        EXPECT_EQ(sent.left.checksum_offset, protocol == tcp ? 16 : 6);
        EXPECT_EQ(sent.left.segment_bytes, 0);
        EXPECT_TRUE(std::ranges::equal(sent.frame, unfinished(frame, protocol)));
    }
    const Bytes frame = ip_frame(tcp, pattern(101));
    const auto expect_complete = [&](const Bytes& given, std::uint32_t extsts, const Bytes& expected) {
        const auto sent = left_of(given, extsts);
        EXPECT_EQ(sent.left.checksum_start, 0);
        EXPECT_TRUE(std::ranges::equal(sent.frame, expected));
    };
    expect_complete(frame, 0, frame); // the guest's own
    expect_complete(with_tag(unfinished(frame, tcp), 7), extsts_tcppkt, with_tag(frame, 7));
    card.write(at::vtcr, vtcr_ppchk | vtcr_vppti);
    expect_complete(unfinished(frame, tcp), extsts_tcppkt | extsts_vpkt | swapped(7), with_tag(frame, 7));
    const Bytes fragment = ip_frame(udp, pattern(40), 0x2000);
    expect_complete(fragment, extsts_udppkt, fragment);
}

// iPXE marks all that it sends.
TEST_F(Offload, LeavesAloneWhatItCannotRead) {
    card.write(at::vtcr, vtcr_ppchk);
    constexpr std::uint32_t all = extsts_ippkt | extsts_tcppkt | extsts_udppkt;
    const Bytes arp = make_frame(broadcast_address, 0x0806, pattern(46));
    EXPECT_EQ(sent_with(arp, all), arp);
    Bytes version_6 = ip_frame(udp, pattern(20));
    version_6[ip_offset] = 0x65;
    EXPECT_EQ(sent_with(version_6, all), version_6);
    Bytes short_header = ip_frame(udp, pattern(20));
    short_header[ip_offset] = 0x44;
    EXPECT_EQ(sent_with(short_header, all), short_header);
    Bytes too_long = ip_frame(udp, pattern(20));
    put_big_endian(too_long, ip_offset + 2, 49);
    EXPECT_EQ(sent_with(too_long, all), too_long);
    const Bytes nothing = make_frame(card_address, 0x0800, pattern(3));
    EXPECT_EQ(sent_with(nothing, all), nothing);
    const Bytes other = ip_frame(1, pattern(40));
    EXPECT_EQ(sent_with(other, all), other);
}

TEST_F(Offload, LeavesTheTransportOfFragmentsAlone) {
    card.write(at::vtcr, vtcr_ppchk);
    for (const std::uint16_t fragment : std::array<std::uint16_t, 3>{0x2000, 0x0001, 0x20b9}) {
        Bytes frame = ip_frame(udp, pattern(40), fragment);
        put_big_endian(frame, udp_checksum_offset, 0x1111);
        EXPECT_EQ(sent_with(frame, extsts_ippkt | extsts_udppkt), frame) << fragment;
    }
}

TEST_F(Offload, ATransportThatContradictsItselfStaysAsItIs) {
    card.write(at::vtcr, vtcr_ppchk);
    for (const std::uint16_t length : std::array<std::uint16_t, 4>{0, 7, 49, 0xffff}) {
        Bytes frame = ip_frame(udp, pattern(40));
        put_big_endian(frame, transport_offset + 4, length);
        EXPECT_EQ(sent_with(frame, extsts_udppkt), frame) << length;
    }
}

// A tag that the guest has put there itself.
TEST_F(Offload, LooksBehindATag) {
    card.write(at::vtcr, vtcr_ppchk);
    const Bytes frame = ip_frame(tcp, pattern(200));
    EXPECT_EQ(sent_with(with_tag(unfinished(frame, tcp), 0x2005), extsts_ippkt | extsts_tcppkt),
              with_tag(frame, 0x2005));
}

TEST_F(Offload, InsertsATagPerPacket) {
    card.write(at::vtcr, vtcr_vppti | vtcr_ppchk);
    const Bytes frame = ip_frame(tcp, pattern(200));
    constexpr std::uint16_t tci = 0x6123;
    EXPECT_EQ(sent_with(unfinished(frame, tcp), extsts_ippkt | extsts_tcppkt | extsts_vpkt | swapped(tci)),
              with_tag(frame, tci));
    EXPECT_EQ(sent_with(frame, 0), frame);
    card.write(at::vtcr, 0);
    EXPECT_EQ(sent_with(frame, extsts_vpkt | swapped(tci)), frame);
}

TEST_F(Offload, InsertsATagIntoFramesOfAnyLength) {
    card.write(at::vtcr, vtcr_vppti);
    for (std::size_t bytes = 14; bytes < 140; ++bytes) {
        const Bytes frame = plain_frame(bytes);
        EXPECT_EQ(sent_with(frame, extsts_vpkt | swapped(0x0abc)), with_tag(frame, 0x0abc)) << bytes;
    }
}

TEST_F(Offload, InsertsATagInAll) {
    card.write(at::vtcr, vtcr_vgti);
    EXPECT_EQ(card.read(at::vdr), 0x81U);
    card.write(at::vdr, (std::uint32_t{swapped(0x0042)} << 16U) | 0x81U);
    EXPECT_EQ(sent_with(plain_frame(100), 0), with_tag(plain_frame(100), 0x0042));
    card.write(at::vtcr, vtcr_vgti | vtcr_vppti);
    EXPECT_EQ(sent_with(plain_frame(100), extsts_vpkt | swapped(0x0043)), with_tag(plain_frame(100), 0x0043));
}

TEST_F(Offload, PadsBehindTheTag) {
    card.write(at::vtcr, vtcr_vppti);
    card.set(at::txcfg, txcfg_atp);
    EXPECT_EQ(sent_with(plain_frame(40), extsts_vpkt | swapped(7)), padded(with_tag(plain_frame(40), 7)));
}

TEST_F(Offload, TheLargestPacketStillGetsItsTag) {
    card.write(at::vtcr, vtcr_vppti);
    const Bytes frame = plain_frame(Dp83820::largest_packet);
    EXPECT_EQ(sent_with(frame, extsts_vpkt | swapped(7)), with_tag(frame, 7));
}

// FreeBSD and NetBSD: checksums with the first descriptor, the tag with the last.
TEST_F(Offload, DescriptorsOfAPacketSayTogetherWhatToDo) {
    card.write(at::vtcr, vtcr_vppti | vtcr_ppchk);
    const Bytes frame = ip_frame(tcp, pattern(400));
    const Bytes given = unfinished(frame, tcp);
    give_to_send(0, Bytes(given.begin(), given.begin() + 20), cmdsts_more, extsts_ippkt | extsts_tcppkt);
    give_to_send(1, Bytes(given.begin() + 20, given.begin() + 131), cmdsts_more);
    give_to_send(2, Bytes(given.begin() + 131, given.end()), 0, extsts_vpkt | swapped(0x0fff));
    give_to_send(3, plain_frame(60)); // and the next one is without
    const std::vector<Bytes> frames = send();
    ASSERT_EQ(frames.size(), 2U);
    EXPECT_EQ(frames[0], with_tag(frame, 0x0fff));
    EXPECT_EQ(frames[1], plain_frame(60));
}

} // namespace
} // namespace previrt
