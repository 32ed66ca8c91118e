// SPDX-License-Identifier: BSD-2-Clause
#include "backends/xen/transmit_ring.hpp"

#include "tests/unit/xen/other_end.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <memory>
#include <random>
#include <tuple>
#include <vector>

namespace previrt::xen {
namespace {

constexpr std::uint32_t frame_room = 9220; // what the card asks for
constexpr grant_ref_t first_grant = 100;

class Transmit : public testing::Test {
protected:
    Transmit() { ring_.start(*page_, memory_.data(), first_grant); }

    bool send(std::uint32_t bytes) { return ring_.room(frame_room) != nullptr && ring_.send(bytes); }
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
        while (!ring_.is_broken() && ring_.room(frame_room) != nullptr) {
            ring_.send(60);
        }
        EXPECT_TRUE(ring_.is_broken());
        EXPECT_EQ(ring_.room(frame_room), memory_.data());
        EXPECT_FALSE(ring_.send(60));
        EXPECT_TRUE(ring_.wait());
    }

    std::vector<std::uint8_t> memory_ =
        std::vector<std::uint8_t>(TransmitRing::rooms * std::size_t{TransmitRing::room_bytes});
    std::unique_ptr<TransmitPage> page_ = std::make_unique<TransmitPage>();
    fake::OtherEnd<TransmitPage> end_{*page_};
    TransmitRing ring_;
};

TEST_F(Transmit, APacketGoesByTheGrantOfItsRoom) {
    std::uint8_t* const room = ring_.room(frame_room);
    ASSERT_NE(room, nullptr);
    ASSERT_LE(room + frame_room, memory_.data() + memory_.size());
    EXPECT_TRUE(ring_.send(1514));
    EXPECT_EQ(end_.requests(), 0U); // until push()
    EXPECT_TRUE(ring_.push());
    ASSERT_EQ(end_.requests(), 1U);
    const netif_tx_request request = end_.take();
    EXPECT_EQ(memory_.data() + ((request.gref - first_grant) * std::size_t{page_size}), room);
    EXPECT_EQ(request.offset, 0);
    EXPECT_EQ(request.flags, 0);
    EXPECT_EQ(request.size, 1514);
    EXPECT_NE(ring_.room(frame_room), room);
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
    EXPECT_EQ(fill(), TransmitRing::rooms);
    EXPECT_EQ(ring_.room(frame_room), nullptr);
    EXPECT_TRUE(ring_.wait());
    for (unsigned i = 0; i < TransmitRing::rooms; ++i) {
        const std::uint32_t before = page_->rsp_prod;
        end_.answer(netif_tx_response{.id = end_.take().id, .status = NETIF_RSP_OKAY});
        EXPECT_EQ(end_.must_notify(before), i + 1 == TransmitRing::rooms / 2);
    }
    EXPECT_FALSE(ring_.wait()); // they have come
    EXPECT_EQ(fill(), TransmitRing::rooms);
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
    EXPECT_EQ(ring_.room(TransmitRing::room_bytes + 1), nullptr);
    EXPECT_EQ(ring_.room(~std::uint32_t{0}), nullptr);
    EXPECT_FALSE(send(page_size + 1));
    EXPECT_FALSE(ring_.push());
    EXPECT_TRUE(send(page_size));
    ring_.send_pieces(true);
    EXPECT_FALSE(send(TransmitRing::room_bytes + 1));
    EXPECT_TRUE(send(TransmitRing::room_bytes));
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

TEST_F(Transmit, ARoomIsFreeWhenAllItsPiecesAreAnswered) {
    ring_.send_pieces(true);
    std::vector<std::uint16_t> sent;
    while (send(9018)) {
        ring_.push();
    }
    while (end_.requests() != 0) {
        sent.push_back(end_.take().id);
    }
    ASSERT_EQ(sent.size(), TransmitRing::pages);
    std::ranges::shuffle(sent, std::mt19937(1));
    std::vector<unsigned> answered(TransmitRing::rooms);
    unsigned free = 0;
    for (const std::uint16_t id : sent) {
        end_.answer(netif_tx_response{
            .id = id, .status = static_cast<std::int16_t>(id % 4 == 0 ? NETIF_RSP_ERROR : NETIF_RSP_OKAY)});
        free += ++answered[id / TransmitRing::room_pages] == TransmitRing::room_pages ? 1 : 0;
        if (free != 0) {
            EXPECT_TRUE(send(60));
            --free;
        } else {
            EXPECT_EQ(ring_.room(frame_room), nullptr);
        }
    }
    unsigned refused = 0;
    for (unsigned room = 0; room < TransmitRing::rooms; ++room) {
        const unsigned first = room * TransmitRing::room_pages;
        refused += first % 4 == 0 || (first + 1) % 4 == 0 || (first + 2) % 4 == 0 ? 1 : 0;
    }
    EXPECT_EQ(ring_.refused(), refused);
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
    page_->rsp_prod = TransmitRing::rooms + 1;
    expect_broken();
}

TEST_F(Transmit, ResponsesThatGoBackEndIt) {
    fill();
    page_->rsp_prod = ~std::uint32_t{0};
    expect_broken();
}

TEST_F(Transmit, ResponsesToWhatWasNotPushedEndIt) {
    for (unsigned i = 0; i < TransmitRing::rooms; ++i) {
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
