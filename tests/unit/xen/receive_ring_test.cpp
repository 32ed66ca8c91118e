// SPDX-License-Identifier: BSD-2-Clause
#include "backends/xen/receive_ring.hpp"

#include "tests/unit/xen/other_end.hpp"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <numeric>
#include <random>
#include <vector>

namespace previrt::xen {
namespace {

constexpr grant_ref_t first_grant = 200;

class Receive : public testing::Test {
protected:
    Receive() {
        ring_.start(*page_, memory_.data(), first_grant);
        ring_.push();
    }

    netif_rx_request answer(std::int16_t status, std::uint16_t offset = 0, std::uint16_t flags = 0) {
        const netif_rx_request request = end_.take();
        end_.answer(netif_rx_response{.id = request.id, .offset = offset, .flags = flags, .status = status});
        return request;
    }
    // In the place of a response.
    void answer_extra(const netif_extra_info& extra) {
        end_.take();
        netif_rx_response slot{};
        std::memcpy(&slot, &extra, sizeof extra);
        end_.answer(slot);
    }
    static netif_extra_info segments(std::uint16_t bytes) {
        netif_extra_info extra{};
        extra.type = XEN_NETIF_EXTRA_TYPE_GSO;
        extra.u.gso.size = bytes;
        extra.u.gso.type = XEN_NETIF_GSO_TYPE_TCPV4;
        return extra;
    }
    // Nothing comes, and the page is the other domain's again.
    void expect_refused() {
        const std::uint64_t before = ring_.refused();
        EXPECT_FALSE(ring_.next());
        EXPECT_EQ(ring_.refused(), before + 1);
        ring_.push();
        EXPECT_EQ(end_.requests(), ReceiveRing::pages);
        EXPECT_FALSE(ring_.is_broken());
    }
    void expect_broken() {
        EXPECT_FALSE(ring_.next());
        EXPECT_TRUE(ring_.is_broken());
        EXPECT_TRUE(ring_.wait());
        EXPECT_FALSE(ring_.next());
    }

    std::vector<std::uint8_t> memory_ = std::vector<std::uint8_t>(
        (ReceiveRing::pages * std::size_t{page_size}) + ReceiveRing::longest_packet);
    std::unique_ptr<ReceivePage> page_ = std::make_unique<ReceivePage>();
    fake::OtherEnd<ReceivePage> end_{*page_};
    ReceiveRing ring_;
};

TEST_F(Receive, EveryPageIsGivenOnce) {
    EXPECT_EQ(end_.requests(), ReceiveRing::pages);
    std::vector<bool> seen(ReceiveRing::pages);
    while (end_.requests() != 0) {
        const netif_rx_request request = end_.take();
        ASSERT_LT(request.id, ReceiveRing::pages);
        EXPECT_EQ(request.gref, first_grant + request.id);
        EXPECT_FALSE(seen[request.id]);
        seen[request.id] = true;
    }
}

TEST_F(Receive, APacketIsThereUntilItIsReleased) {
    EXPECT_FALSE(ring_.next());
    EXPECT_TRUE(ring_.wait());
    const std::uint32_t before = page_->rsp_prod;
    const netif_rx_request request = answer(1514, 2);
    EXPECT_TRUE(end_.must_notify(before));
    EXPECT_FALSE(ring_.wait());
    for (unsigned i = 0; i < 2; ++i) {
        const auto packet = ring_.next();
        ASSERT_TRUE(packet);
        EXPECT_EQ(packet->bytes.data(), memory_.data() + ((request.gref - first_grant) * page_size) + 2);
        EXPECT_EQ(packet->bytes.size(), 1514U);
    }
    EXPECT_FALSE(ring_.push());
    ring_.release();
    page_->req_event = ReceiveRing::pages + 1; // it wants one more
    EXPECT_TRUE(ring_.push());
    EXPECT_EQ(end_.requests(), ReceiveRing::pages);
    EXPECT_FALSE(ring_.next());
}

TEST_F(Receive, PacketsComeForEver) {
    std::mt19937 random(1);
    unsigned sent = 0;
    unsigned received = 0;
    for (unsigned i = 0; i < 100'000; ++i) {
        if (random() % 2 != 0 && end_.requests() != 0) {
            answer(static_cast<std::int16_t>(1 + (sent++ % page_size)));
        }
        if (random() % 2 != 0) {
            if (const auto packet = ring_.next()) {
                ASSERT_EQ(packet->bytes.size(), 1 + (received++ % page_size));
                ring_.release();
                ring_.push();
            }
        }
    }
    EXPECT_GT(received, 10'000U);
    EXPECT_EQ(ring_.refused(), 0U);
}

TEST_F(Receive, APageCanBeFull) {
    answer(page_size);
    ASSERT_TRUE(ring_.next());
    EXPECT_EQ(ring_.next()->bytes.size(), page_size);
}

TEST_F(Receive, PiecesArePutTogether) {
    std::iota(memory_.begin(), memory_.end(), std::uint8_t{0});
    std::vector<std::uint8_t> whole;
    const auto send_piece = [&](std::int16_t bytes, std::uint16_t offset, std::uint16_t flags) {
        const std::size_t page = answer(bytes, offset, flags).gref - first_grant;
        const auto piece = memory_.begin() + static_cast<std::ptrdiff_t>((page * page_size) + offset);
        whole.insert(whole.end(), piece, piece + bytes);
    };
    for (unsigned times = 0; times < 1000; ++times) {
        whole.clear();
        send_piece(page_size, 0, NETRXF_more_data);
        EXPECT_FALSE(ring_.next()); // the rest may come later
        send_piece(4001, 95, NETRXF_more_data);
        send_piece(921, 3, 0);
        answer(60);
        const auto packet = ring_.next();
        ASSERT_TRUE(packet);
        ASSERT_TRUE(std::ranges::equal(packet->bytes, whole)) << times;
        ring_.release();
        ASSERT_TRUE(ring_.next());
        ASSERT_EQ(ring_.next()->bytes.size(), 60U);
        ring_.release();
        ring_.push();
        ASSERT_EQ(end_.requests(), ReceiveRing::pages); // they are all its again
    }
    EXPECT_EQ(ring_.refused(), 0U);
}

TEST_F(Receive, WhatIsNoPacketIsRefused) {
    for (const int status : {NETIF_RSP_ERROR, NETIF_RSP_DROPPED, 0, -32768}) {
        answer(static_cast<std::int16_t>(status));
        expect_refused();
    }
    answer(page_size + 1);
    expect_refused();
    answer(32767);
    expect_refused();
    answer(page_size, 1);
    expect_refused();
    answer(1, page_size);
    expect_refused();
    answer(1, 65535);
    expect_refused();
    answer(page_size, 65535);
    expect_refused();
}

TEST_F(Receive, OfAWrongPieceNothingIsTaken) {
    answer(100, 0, NETRXF_more_data);
    answer(NETIF_RSP_ERROR, 0, NETRXF_more_data);
    answer(100);
    answer(60);
    ASSERT_TRUE(ring_.next());
    EXPECT_EQ(ring_.next()->bytes.size(), 60U);
    EXPECT_EQ(ring_.refused(), 1U);
}

TEST_F(Receive, PiecesOfMoreThanAnyPacketAreRefused) {
    for (unsigned pages = 0; pages < 200; ++pages) {
        answer(page_size, 0, NETRXF_more_data);
    }
    answer(1);
    expect_refused();
    constexpr unsigned most = ReceiveRing::longest_packet / page_size;
    for (unsigned pages = 1; pages <= most; ++pages) {
        answer(page_size, 0, pages == most ? 0 : NETRXF_more_data);
    }
    ASSERT_TRUE(ring_.next());
    EXPECT_EQ(ring_.next()->bytes.size(), ReceiveRing::longest_packet);
}

TEST_F(Receive, ChecksumsAreAsTheFlagsSay) {
    for (const unsigned flags : {0U, NETRXF_csum_blank | NETRXF_data_validated, NETRXF_data_validated}) {
        for (const bool in_pieces : {false, true}) {
            answer(60, 0, static_cast<std::uint16_t>(flags | (in_pieces ? NETRXF_more_data : 0U)));
            if (in_pieces) {
                answer(60);
            }
            const auto packet = ring_.next();
            ASSERT_TRUE(packet);
            EXPECT_EQ(packet->lacks_checksum, (flags & NETRXF_csum_blank) != 0);
            EXPECT_EQ(packet->is_verified, (flags & NETRXF_data_validated) != 0);
            EXPECT_EQ(packet->segment_bytes, 0);
            ring_.release();
        }
    }
}

TEST_F(Receive, ExtraInformationSaysHowToCut) {
    for (unsigned times = 0; times < 1000; ++times) { // the pages behind it come back too
        const bool in_pieces = times % 2 != 0;
        answer(3000, 0, static_cast<std::uint16_t>(NETRXF_extra_info | (in_pieces ? NETRXF_more_data : 0U)));
        EXPECT_FALSE(ring_.next());
        answer_extra(segments(1448));
        if (in_pieces) {
            EXPECT_FALSE(ring_.next());
            answer(2000);
        }
        const auto packet = ring_.next();
        ASSERT_TRUE(packet) << times;
        EXPECT_EQ(packet->segment_bytes, 1448);
        EXPECT_EQ(packet->bytes.size(), in_pieces ? 5000U : 3000U);
        ring_.release();
        answer(60);
        ASSERT_TRUE(ring_.next());
        EXPECT_EQ(ring_.next()->segment_bytes, 0);
        ring_.release();
        ring_.push();
        ASSERT_EQ(end_.requests(), ReceiveRing::pages);
    }
    EXPECT_EQ(ring_.refused(), 0U);
}

TEST_F(Receive, OtherExtraInformationIsPassedOver) {
    netif_extra_info hash{};
    hash.type = XEN_NETIF_EXTRA_TYPE_HASH;
    hash.flags = XEN_NETIF_EXTRA_FLAG_MORE;
    answer(3000, 0, NETRXF_extra_info);
    answer_extra(hash);
    EXPECT_FALSE(ring_.next());
    answer_extra(segments(1000));
    ASSERT_TRUE(ring_.next());
    EXPECT_EQ(ring_.next()->segment_bytes, 1000);
    EXPECT_EQ(ring_.next()->bytes.size(), 3000U);
}

TEST_F(Receive, SegmentsOfWhatWasNotAskedForAreRefused) {
    netif_extra_info extra = segments(1000);
    extra.u.gso.type = XEN_NETIF_GSO_TYPE_TCPV6;
    answer(3000, 0, NETRXF_extra_info);
    answer_extra(extra);
    expect_refused();
}

TEST_F(Receive, ResponsesThatRunAheadEndIt) {
    page_->rsp_prod = ReceiveRing::pages + 1;
    expect_broken();
}

TEST_F(Receive, ResponsesThatGoBackEndIt) {
    answer(60);
    ASSERT_TRUE(ring_.next());
    ring_.release();
    page_->rsp_prod = 0;
    expect_broken();
}

TEST_F(Receive, APageThatWasNotGivenEndsIt) {
    end_.answer(netif_rx_response{.id = ReceiveRing::pages, .offset = 0, .flags = 0, .status = 60});
    expect_broken();
}

TEST_F(Receive, NoResponseLeadsOutOfItsMemory) {
    for (unsigned seed = 0; seed < 2000; ++seed) {
        const auto page = std::make_unique<ReceivePage>();
        ReceiveRing ring;
        ring.start(*page, memory_.data(), first_grant);
        ring.push();
        std::mt19937 random(seed);
        for (unsigned step = 0; step < 50; ++step) {
            std::uint16_t flags = random() % 2 != 0 ? NETRXF_more_data : 0;
            if (random() % 8 == 0) {
                flags = static_cast<std::uint16_t>(random());
            }
            netif_rx_response& response = page->slots[page->rsp_prod % ReceivePage::size].response;
            response = {.id = static_cast<std::uint16_t>(random() % 260),
                        .offset = static_cast<std::uint16_t>(random() % 8 == 0 ? random() : random() % 4096),
                        .flags = flags,
                        .status = static_cast<std::int16_t>(random() % 8 == 0 ? random() : random() % 4096)};
            page->rsp_prod += random() % 64 == 0 ? static_cast<std::uint32_t>(random()) : 1;
            if (const auto packet = ring.next()) {
                ASSERT_LE(packet->bytes.size(), ReceiveRing::longest_packet);
                ASSERT_GE(packet->bytes.data(), memory_.data());
                ASSERT_LE(packet->bytes.data() + packet->bytes.size(), memory_.data() + memory_.size());
                (void)std::accumulate(packet->bytes.begin(), packet->bytes.end(), 0U);
                ring.release();
                ring.push();
            }
        }
    }
}

} // namespace
} // namespace previrt::xen
