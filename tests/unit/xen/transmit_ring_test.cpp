// SPDX-License-Identifier: BSD-2-Clause
#include "backends/xen/transmit_ring.hpp"

#include "tests/unit/xen/other_end.hpp"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <memory>
#include <random>
#include <tuple>
#include <vector>

namespace previrt::xen {
namespace {

constexpr std::uint32_t frame_room = 9220; // what the card asks for
constexpr grant_ref_t first_grant = 100;
constexpr unsigned short_packets = TransmitRing::pages - 2; // behind which a frame of three pages has no room

class Transmit : public testing::Test {
protected:
    Transmit() { ring_.start(*page_, memory_.data(), first_grant); }

    bool send(std::uint32_t bytes, const ethernet::Unfinished& left = {}) {
        return !ring_.room(frame_room).empty() && ring_.send(bytes, left);
    }
    unsigned fill() {
        unsigned sent = 0;
        while (send(60)) {
            ++sent;
        }
        ring_.push();
        return sent;
    }
    void answer_all(std::int16_t status = NETIF_RSP_OKAY) {
        while (end_.requests() != 0) {
            end_.answer(netif_tx_response{.id = end_.take().id, .status = status});
        }
    }
    // Once there is no other end, packets are lost, and nobody waits for it.
    void expect_broken() {
        while (!ring_.is_broken() && !ring_.room(frame_room).empty()) {
            ring_.send(60, {});
        }
        EXPECT_TRUE(ring_.is_broken());
        EXPECT_GE(ring_.room(frame_room).size(), frame_room);
        EXPECT_FALSE(ring_.send(60, {}));
        EXPECT_TRUE(ring_.wait());
    }

    std::vector<std::uint8_t> memory_ =
        std::vector<std::uint8_t>(TransmitRing::pages * std::size_t{page_size});
    std::unique_ptr<TransmitPage> page_ = std::make_unique<TransmitPage>();
    fake::OtherEnd<TransmitPage> end_{*page_};
    TransmitRing ring_;
};

TEST_F(Transmit, APacketGoesByTheGrantOfItsRoom) {
    const std::span<std::uint8_t> room = ring_.room(frame_room);
    ASSERT_GE(room.size(), frame_room);
    ASSERT_LE(room.data() + room.size(), memory_.data() + memory_.size());
    EXPECT_TRUE(ring_.send(1514, {}));
    EXPECT_EQ(end_.requests(), 0U); // until push()
    EXPECT_TRUE(ring_.push());
    ASSERT_EQ(end_.requests(), 1U);
    const netif_tx_request request = end_.take();
    EXPECT_EQ(memory_.data() + ((request.gref - first_grant) * std::size_t{page_size}), room.data());
    EXPECT_EQ(request.offset, 0);
    EXPECT_EQ(request.flags, 0);
    EXPECT_EQ(request.size, 1514);
    EXPECT_EQ(ring_.room(frame_room).data(), room.data() + page_size);
}

TEST_F(Transmit, WhoDoesNotWaitIsNotNotified) {
    send(60);
    EXPECT_TRUE(ring_.push());
    EXPECT_FALSE(ring_.push()); // nothing new
    send(60);
    EXPECT_FALSE(ring_.push());
    page_->req_event = 4;
    send(60);
    EXPECT_FALSE(ring_.push());
    send(60);
    send(60);
    EXPECT_TRUE(ring_.push());
}

TEST_F(Transmit, AFullRingWaitsForHalfOfIt) {
    EXPECT_EQ(fill(), short_packets);
    EXPECT_TRUE(ring_.room(frame_room).empty());
    EXPECT_TRUE(ring_.wait());
    for (unsigned i = 0; i < short_packets; ++i) {
        const std::uint32_t before = page_->rsp_prod;
        end_.answer(netif_tx_response{.id = end_.take().id, .status = NETIF_RSP_OKAY});
        EXPECT_EQ(end_.must_notify(before), i + 1 == short_packets / 2);
    }
    EXPECT_FALSE(ring_.wait()); // they have come
    EXPECT_EQ(fill(), short_packets);
}

TEST_F(Transmit, RoomsComeBackInAnyOrder) {
    std::mt19937 random(1);
    std::vector<std::uint16_t> sent;
    for (unsigned i = 0; i < 100'000; ++i) {
        if (send(60)) {
            ring_.push();
            sent.push_back(end_.take().id);
        }
        if (!sent.empty() && random() % 2 != 0) {
            std::swap(sent[random() % sent.size()], sent.back());
            end_.answer(netif_tx_response{.id = sent.back(), .status = NETIF_RSP_OKAY});
            sent.pop_back();
        }
    }
    EXPECT_FALSE(ring_.is_broken());
    EXPECT_EQ(ring_.refused(), 0U);
}

TEST_F(Transmit, WhatDoesNotFitIsLost) {
    EXPECT_TRUE(ring_.room(80'000).empty());
    EXPECT_TRUE(ring_.room(~std::uint32_t{0}).empty());
    EXPECT_FALSE(send(page_size + 1));
    EXPECT_FALSE(ring_.push());
    EXPECT_TRUE(send(page_size));
    ring_.send_pieces(true);
    EXPECT_FALSE(send(TransmitRing::longest_packet + 1));
    EXPECT_TRUE(send(TransmitRing::longest_packet));
    EXPECT_FALSE(ring_.is_broken());
}

TEST_F(Transmit, ALongPacketGoesInPieces) {
    ring_.send_pieces(true);
    for (const auto& [bytes, last_piece, pieces] :
         {std::tuple(page_size, 0, 1), std::tuple(page_size + 1, 1, 2), std::tuple(2 * page_size, 4096, 2),
          std::tuple(std::uint64_t{9018}, 9018 - 8192, 3)}) {
        ASSERT_TRUE(send(static_cast<std::uint32_t>(bytes)));
        ring_.push();
        ASSERT_EQ(end_.requests(), static_cast<unsigned>(pieces)) << bytes;
        const netif_tx_request first = end_.take();
        EXPECT_EQ(first.size, bytes);
        EXPECT_EQ(first.flags, pieces > 1 ? NETTXF_more_data : 0);
        for (int piece = 1; piece < pieces; ++piece) {
            const netif_tx_request request = end_.take();
            EXPECT_EQ(request.gref, first.gref + static_cast<unsigned>(piece));
            EXPECT_EQ(request.offset, 0);
            EXPECT_EQ(request.size, piece + 1 < pieces ? static_cast<int>(page_size) : last_piece);
            EXPECT_EQ(request.flags, piece + 1 < pieces ? NETTXF_more_data : 0);
        }
    }
}

// Of packets of any length, answered in any order: no page has two, and no slot of the ring.
TEST_F(Transmit, PagesAreFreeWhenAllTheirPacketIsAnswered) {
    ring_.send_pieces(true);
    std::mt19937 random(1);
    std::vector<netif_tx_request> sent;
    std::vector<bool> is_with_backend(TransmitRing::pages);
    for (unsigned i = 0; i < 200'000; ++i) {
        const auto room = ring_.room(frame_room);
        if (!room.empty() && random() % 4 != 0) {
            ASSERT_LE(room.data() + room.size(), memory_.data() + memory_.size());
            const auto first = static_cast<std::size_t>(room.data() - memory_.data()) / page_size;
            for (std::size_t page = first; page < first + (room.size() / page_size); ++page) {
                ASSERT_FALSE(is_with_backend[page]);
            }
            const std::size_t most = std::min<std::size_t>(room.size(), TransmitRing::longest_packet);
            const auto bytes = static_cast<std::uint32_t>(1 + (random() % (random() % 2 != 0 ? most : 1514)));
            ASSERT_TRUE(ring_.send(bytes, {}));
            ring_.push();
            while (end_.requests() != 0) {
                sent.push_back(end_.take());
                is_with_backend[sent.back().id] = true;
            }
        }
        while (!sent.empty() && random() % 16 != 0) {
            std::swap(sent[random() % sent.size()], sent.back());
            end_.answer(netif_tx_response{.id = sent.back().id, .status = NETIF_RSP_OKAY});
            is_with_backend[sent.back().id] = false;
            sent.pop_back();
        }
    }
    EXPECT_FALSE(ring_.is_broken());
    EXPECT_EQ(ring_.refused(), 0U);
}

TEST_F(Transmit, OneWrongPieceIsARefusedPacket) {
    ring_.send_pieces(true);
    ASSERT_TRUE(send(9018));
    ring_.push();
    for (unsigned piece = 0; piece < 3; ++piece) {
        end_.answer(netif_tx_response{
            .id = end_.take().id,
            .status = static_cast<std::int16_t>(piece == 1 ? NETIF_RSP_ERROR : NETIF_RSP_OKAY)});
    }
    fill();
    answer_all();
    fill();
    EXPECT_EQ(ring_.refused(), 1U);
}

TEST_F(Transmit, ALeftChecksumIsSaid) {
    ASSERT_TRUE(send(60, {.checksum_start = 34, .checksum_offset = 16}));
    ring_.push();
    EXPECT_EQ(end_.take().flags, NETTXF_csum_blank | NETTXF_data_validated);
}

TEST_F(Transmit, SegmentsAreSaidByExtraInformation) {
    ring_.send_pieces(true);
    constexpr ethernet::Unfinished left{
        .checksum_start = 34, .checksum_offset = 16, .segment_bytes = 1448, .header_bytes = 66};
    for (unsigned times = 0; times < 1000; ++times) {
        ASSERT_TRUE(send(5000, left)) << times;
        ring_.push();
        ASSERT_EQ(end_.requests(), 3U);
        const netif_tx_request first = end_.take();
        EXPECT_EQ(first.flags,
                  NETTXF_csum_blank | NETTXF_data_validated | NETTXF_extra_info | NETTXF_more_data);
        EXPECT_EQ(first.size, 5000);
        const netif_tx_request slot = end_.take();
        netif_extra_info extra{};
        std::memcpy(&extra, &slot, sizeof extra);
        EXPECT_EQ(extra.type, XEN_NETIF_EXTRA_TYPE_GSO);
        EXPECT_EQ(extra.flags, 0);
        EXPECT_EQ(extra.u.gso.type, XEN_NETIF_GSO_TYPE_TCPV4);
        EXPECT_EQ(extra.u.gso.size, 1448);
        EXPECT_EQ(extra.u.gso.features, 0);
        const netif_tx_request second = end_.take();
        EXPECT_EQ(second.flags, 0);
        EXPECT_EQ(second.size, 5000 - page_size);
        end_.answer(netif_tx_response{.id = first.id, .status = NETIF_RSP_OKAY});
        end_.answer(netif_tx_response{.id = 0xffff, .status = NETIF_RSP_NULL});
        end_.answer(netif_tx_response{.id = second.id, .status = NETIF_RSP_OKAY});
    }
    EXPECT_FALSE(ring_.is_broken());
}

// Two slots each: the ring is full before the pages are.
TEST_F(Transmit, ExtraInformationNeedsRoomInTheRing) {
    ring_.send_pieces(true);
    unsigned sent = 0;
    while (send(4000, {.checksum_start = 34, .checksum_offset = 16, .segment_bytes = 1448})) {
        ++sent;
    }
    EXPECT_GT(sent, (TransmitPage::size / 2) - 4);
    ring_.push();
    EXPECT_LE(end_.requests(), TransmitPage::size);
    EXPECT_FALSE(ring_.is_broken());
}

TEST_F(Transmit, RefusedPacketsAreCounted) {
    const unsigned sent = fill();
    answer_all(NETIF_RSP_ERROR);
    EXPECT_EQ(fill(), sent);
    EXPECT_EQ(ring_.refused(), sent);
    EXPECT_FALSE(ring_.is_broken());
}

TEST_F(Transmit, WithoutABackendNothingWaits) {
    fill();
    ring_.give_up();
    expect_broken();
}

TEST_F(Transmit, AResponseToNothingEndsIt) {
    page_->rsp_prod = 1;
    fill(); // asked meanwhile, but only for what was then
    page_->rsp_prod = 1;
    page_->slots[0].response = {.id = TransmitRing::pages, .status = 0};
    expect_broken();
}

TEST_F(Transmit, ResponsesThatRunAheadEndIt) {
    fill();
    page_->rsp_prod = TransmitPage::size + 1;
    expect_broken();
}

TEST_F(Transmit, ResponsesThatGoBackEndIt) {
    fill();
    page_->rsp_prod = ~std::uint32_t{0};
    expect_broken();
}

TEST_F(Transmit, ResponsesToWhatWasNotPushedEndIt) {
    for (unsigned i = 0; i < short_packets; ++i) {
        send(60);
    }
    end_.answer(netif_tx_response{.id = 0, .status = NETIF_RSP_OKAY});
    expect_broken();
}

TEST_F(Transmit, TheSameResponseTwiceEndsIt) {
    fill();
    const std::uint16_t id = end_.take().id;
    end_.answer(netif_tx_response{.id = id, .status = NETIF_RSP_OKAY});
    end_.answer(netif_tx_response{.id = id, .status = NETIF_RSP_OKAY});
    expect_broken();
}

} // namespace
} // namespace previrt::xen
