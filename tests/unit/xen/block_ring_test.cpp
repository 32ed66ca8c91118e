// SPDX-License-Identifier: BSD-2-Clause
#include "backends/xen/block_ring.hpp"

#include "tests/unit/xen/other_end.hpp"

#include <algorithm>
#include <cstring>
#include <gtest/gtest.h>
#include <map>
#include <memory>
#include <random>
#include <set>
#include <vector>

namespace previrt::xen {
namespace {

using backend::DiskOperation;
using backend::DiskPiece;
using backend::DiskResult;

constexpr grant_ref_t first_grant = 100;
constexpr std::size_t ram_bytes = std::size_t{8} << 20U;
constexpr std::size_t disk_bytes = std::size_t{4} << 20U;
constexpr std::uint64_t request_bytes = std::uint64_t{BlockRing::pages_of_request} * page_size;

// A back-end with a disk, which does what requests say.
class Blocks : public testing::Test {
protected:
    Blocks() {
        ring_.start(*page_, memory_.data(), first_grant, ram_.data());
        describe(BLKIF_OP_FLUSH_DISKCACHE);
        fill(ram_, 1);
        fill(disk_, 2);
    }

    // A page is unlike all others.
    static void fill(std::vector<std::uint8_t>& bytes, std::uint64_t state) {
        for (std::size_t i = 0; i < bytes.size(); i += sizeof(state)) {
            state = (state * 6364136223846793005U) + 1442695040888963407U;
            std::memcpy(&bytes[i], &state, sizeof(state));
        }
    }
    void describe(std::uint8_t flush) { ring_.describe({.number = 51712, .flush_operation = flush}); }
    bool submit(std::uint64_t token, DiskOperation operation, std::uint64_t offset, std::uint64_t bytes,
                const std::vector<DiskPiece>& pieces = {}, bool is_durable = false) {
        return ring_.submit({.token = token,
                             .operation = operation,
                             .is_durable = is_durable,
                             .offset = offset,
                             .bytes = bytes,
                             .pieces = pieces});
    }
    bool read(std::uint64_t token, std::uint64_t offset, std::uint64_t bytes, std::uint64_t address) {
        return submit(token, DiskOperation::read, offset, bytes, {{.address = address, .bytes = bytes}});
    }
    bool write(std::uint64_t token, std::uint64_t offset, std::uint64_t bytes, std::uint64_t address,
               bool is_durable = false) {
        return submit(token, DiskOperation::write, offset, bytes, {{.address = address, .bytes = bytes}},
                      is_durable);
    }
    blkif_request take() {
        ring_.push();
        EXPECT_NE(end_.requests(), 0U);
        return end_.take();
    }
    unsigned requests() {
        ring_.push();
        return end_.requests();
    }
    void answer(std::uint64_t id, std::int16_t status = BLKIF_RSP_OKAY) {
        end_.answer(blkif_response{.id = id, .operation = 0, .status = status});
    }
    // Checks a request, and does it.
    void carry_out(const blkif_request& request) {
        ASSERT_LT(request.id, BlockRing::requests);
        std::uint64_t at = request.sector_number * sector_bytes;
        if (request.operation == BLKIF_OP_DISCARD) {
            blkif_request_discard discard{};
            std::memcpy(&discard, &request, sizeof(discard));
            std::fill_n(disk_.begin() + static_cast<std::ptrdiff_t>(at), discard.nr_sectors * sector_bytes,
                        0);
            return;
        }
        ASSERT_LE(request.nr_segments, BLKIF_MAX_SEGMENTS_PER_REQUEST);
        for (unsigned i = 0; i < request.nr_segments; ++i) {
            const blkif_request_segment& segment = request.seg[i];
            ASSERT_GE(segment.gref, first_grant);
            ASSERT_LT(segment.gref, first_grant + BlockRing::pages);
            ASSERT_LE(segment.first_sect, segment.last_sect);
            ASSERT_LT(segment.last_sect, page_size / sector_bytes);
            std::uint8_t* const page = memory_.data() + ((segment.gref - first_grant) * page_size);
            const std::uint64_t first = segment.first_sect * std::uint64_t{sector_bytes};
            const std::uint64_t bytes = ((segment.last_sect + 1U) * std::uint64_t{sector_bytes}) - first;
            ASSERT_LE(at + bytes, disk_.size());
            if (request.operation == BLKIF_OP_READ) {
                std::memcpy(page + first, disk_.data() + at, bytes);
            } else {
                ASSERT_EQ(request.operation, BLKIF_OP_WRITE);
                std::memcpy(disk_.data() + at, page + first, bytes);
            }
            at += bytes;
        }
    }
    void serve_one() {
        const blkif_request request = take();
        carry_out(request);
        answer(request.id);
    }
    std::optional<DiskResult> result_of(std::uint64_t token) {
        const auto completion = ring_.next();
        EXPECT_TRUE(!completion || completion->token == token);
        return completion ? std::optional(completion->result) : std::nullopt;
    }
    std::optional<DiskResult> serve_until_end(std::uint64_t token) {
        for (;;) {
            if (const auto result = result_of(token)) {
                return result;
            }
            if (requests() == 0) {
                return {};
            }
            serve_one();
        }
    }
    [[nodiscard]] bool disk_has_ram(std::uint64_t offset, std::uint64_t address, std::uint64_t bytes) const {
        return std::memcmp(disk_.data() + offset, ram_.data() + address, bytes) == 0;
    }
    // What was there ends as an error, and so does all that comes.
    void expect_broken(std::uint64_t token) {
        EXPECT_EQ(result_of(token), DiskResult::read_error);
        EXPECT_TRUE(ring_.is_broken());
        EXPECT_FALSE(ring_.next());
        for (unsigned i = 0; i < 200; ++i) {
            ASSERT_TRUE(write(i, 0, 512, 0));
            EXPECT_EQ(result_of(i), DiskResult::write_error);
        }
        ASSERT_TRUE(submit(1, DiskOperation::flush, 0, 0));
        EXPECT_EQ(result_of(1), DiskResult::write_error);
    }

    std::vector<std::uint8_t> memory_ = std::vector<std::uint8_t>(BlockRing::pages * std::size_t{page_size});
    std::vector<std::uint8_t> ram_ = std::vector<std::uint8_t>(ram_bytes);
    std::vector<std::uint8_t> disk_ = std::vector<std::uint8_t>(disk_bytes);
    std::unique_ptr<BlockPage> page_ = std::make_unique<BlockPage>();
    fake::OtherEnd<BlockPage> end_{*page_};
    BlockRing ring_;
};

TEST_F(Blocks, AWriteIsOneRequestWithItsData) {
    ASSERT_TRUE(write(7, 1024, 5120, 100)); // at no multiple of anything
    EXPECT_EQ(end_.requests(), 0U);         // until push()
    EXPECT_TRUE(ring_.push());
    EXPECT_FALSE(ring_.push());
    const blkif_request request = take();
    EXPECT_EQ(request.operation, BLKIF_OP_WRITE);
    EXPECT_EQ(request.handle, 51712);
    EXPECT_EQ(request.sector_number, 2U);
    ASSERT_EQ(request.nr_segments, 2);
    EXPECT_EQ(request.seg[0].last_sect, 7);
    EXPECT_EQ(request.seg[1].last_sect, 1);
    carry_out(request);
    EXPECT_TRUE(disk_has_ram(1024, 100, 5120));
    EXPECT_FALSE(ring_.next());
    answer(request.id);
    EXPECT_EQ(result_of(7), DiskResult::done);
    EXPECT_FALSE(ring_.next());
}

TEST_F(Blocks, AReadGoesToAllItsPieces) {
    const std::vector<DiskPiece> pieces = {
        {.address = 4000, .bytes = 96}, {.address = 40960, .bytes = 4096}, {.address = 8192, .bytes = 928}};
    ASSERT_TRUE(submit(3, DiskOperation::read, 4096, 5120, pieces));
    const std::vector<std::uint8_t> before = ram_;
    const blkif_request request = take();
    carry_out(request);
    EXPECT_EQ(ram_, before); // the other domain reaches none of it
    answer(request.id);
    EXPECT_EQ(result_of(3), DiskResult::done);
    EXPECT_TRUE(disk_has_ram(4096, 4000, 96));
    EXPECT_TRUE(disk_has_ram(4096 + 96, 40960, 4096));
    EXPECT_TRUE(disk_has_ram(4096 + 4192, 8192, 928));
    EXPECT_EQ(ram_[4096], before[4096]);
    EXPECT_EQ(ram_[8192 + 928], before[8192 + 928]);
}

TEST_F(Blocks, ALongTransferIsManyRequests) {
    constexpr std::uint64_t bytes = backend::most_request_bytes;
    ASSERT_TRUE(write(1, 512, bytes, 4));
    EXPECT_EQ(requests(), (bytes + request_bytes - 1) / request_bytes);
    EXPECT_EQ(serve_until_end(1), DiskResult::done);
    EXPECT_TRUE(disk_has_ram(512, 4, bytes));
    std::vector<DiskPiece> pages; // backwards
    pages.reserve(bytes / page_size);
    for (std::uint64_t i = 0; i < bytes / page_size; ++i) {
        pages.push_back({.address = (1000 - i) * page_size, .bytes = page_size});
    }
    ASSERT_TRUE(submit(2, DiskOperation::read, 0, bytes, pages));
    EXPECT_EQ(serve_until_end(2), DiskResult::done);
    for (std::uint64_t i = 0; i < bytes / page_size; ++i) {
        EXPECT_TRUE(disk_has_ram(i * page_size, pages[i].address, page_size));
    }
}

// The first begins anywhere, and so each request ends within a page.
TEST_F(Blocks, ThePagesOfALongTransferNeedNotBeAligned) {
    std::vector<DiskPiece> pages = {{.address = 4092, .bytes = 4}};
    std::uint64_t bytes = 4;
    for (std::uint64_t i = 0; i < 255; ++i, bytes += page_size) {
        pages.push_back({.address = (1000 - i) * page_size, .bytes = page_size});
    }
    pages.push_back({.address = 1500 * page_size, .bytes = backend::most_request_bytes - bytes});
    ASSERT_EQ(pages.size(), backend::most_request_pieces);
    for (const DiskOperation operation : {DiskOperation::write, DiskOperation::read}) {
        ASSERT_TRUE(submit(1, operation, 0, backend::most_request_bytes, pages));
        EXPECT_EQ(serve_until_end(1), DiskResult::done);
        std::uint64_t at = 0;
        for (const DiskPiece& piece : pages) {
            ASSERT_TRUE(disk_has_ram(at, piece.address, piece.bytes));
            at += piece.bytes;
        }
        std::ranges::reverse(disk_);
    }
}

TEST_F(Blocks, WhatTheRingHasNoSlotForFollows) {
    ASSERT_TRUE(write(1, 0, backend::most_request_bytes, 0));
    ASSERT_TRUE(write(2, std::uint64_t{2} << 20U, backend::most_request_bytes, std::uint64_t{2} << 20U));
    EXPECT_FALSE(write(3, 0, 512, 0)); // none passes the second
    EXPECT_EQ(requests(), BlockRing::requests);
    std::map<std::uint64_t, DiskResult> ended;
    while (requests() != 0) {
        serve_one();
        while (const auto completion = ring_.next()) {
            ended[completion->token] = completion->result;
        }
    }
    EXPECT_EQ(ended, (std::map<std::uint64_t, DiskResult>{{1, DiskResult::done}, {2, DiskResult::done}}));
    EXPECT_TRUE(disk_has_ram(0, 0, backend::most_request_bytes));
    EXPECT_TRUE(disk_has_ram(std::uint64_t{2} << 20U, std::uint64_t{2} << 20U, backend::most_request_bytes));
    EXPECT_TRUE(write(3, 0, 512, 0));
}

TEST_F(Blocks, AsManyAsTheRingHasSlots) {
    for (unsigned i = 0; i < BlockRing::requests; ++i) {
        ASSERT_TRUE(write(i, 0, 512, 0));
    }
    EXPECT_FALSE(write(99, 0, 512, 0));
    const blkif_request request = take();
    answer(request.id);
    EXPECT_EQ(result_of(0), DiskResult::done);
    EXPECT_TRUE(write(99, 0, 512, 0));
    EXPECT_EQ(requests(), BlockRing::requests);
}

// Of all operations, answered in any order, a tenth as errors: what a completed transfer wrote is on the
// disk, and no page has two requests.
TEST_F(Blocks, TransfersInAnyOrderKeepTheirBytes) {
    std::mt19937 random(1);
    constexpr std::uint64_t area = disk_bytes / 32; // of each token, so that they do not disturb each other
    struct Made {
        DiskOperation operation;
        std::uint64_t offset, bytes, address;
        bool has_failed;
    };
    std::map<std::uint64_t, Made> made;
    std::vector<blkif_request> taken;
    std::uint64_t ended = 0;
    for (unsigned step = 0; step < 30'000; ++step) {
        const std::uint64_t token = random() % 32;
        if (!made.contains(token)) {
            const auto operation = std::array{DiskOperation::read, DiskOperation::write,
                                              DiskOperation::write_zeroes}[random() % 3];
            const std::uint64_t bytes = (1 + (random() % (area / 512))) * 512;
            const std::uint64_t address = (token * 2 * area) + (random() % (area / 4) * 4);
            if (submit(token, operation, token * area, bytes,
                       operation == DiskOperation::write_zeroes
                           ? std::vector<DiskPiece>()
                           : std::vector<DiskPiece>{{.address = address, .bytes = bytes}})) {
                made[token] = {operation, token * area, bytes, address, false};
            }
        }
        ring_.push();
        std::set<std::uint64_t> ids;
        while (end_.requests() != 0) {
            taken.push_back(end_.take());
        }
        for (const blkif_request& request : taken) {
            ASSERT_TRUE(ids.insert(request.id).second);
        }
        while (!taken.empty() && random() % 4 != 0) {
            std::swap(taken[random() % taken.size()], taken.back());
            const blkif_request request = taken.back();
            taken.pop_back();
            const bool fails = random() % 10 == 0;
            Made& transfer = made.at(request.sector_number * sector_bytes / area);
            transfer.has_failed = transfer.has_failed || fails;
            if (!fails) {
                carry_out(request);
            }
            answer(request.id, fails ? BLKIF_RSP_ERROR : BLKIF_RSP_OKAY);
        }
        while (const auto completion = ring_.next()) {
            const Made& transfer = made.at(completion->token);
            ++ended;
            if (transfer.has_failed) {
                ASSERT_EQ(completion->result, transfer.operation == DiskOperation::read
                                                  ? DiskResult::read_error
                                                  : DiskResult::write_error);
            } else {
                ASSERT_EQ(completion->result, DiskResult::done);
                if (transfer.operation == DiskOperation::write_zeroes) {
                    ASSERT_TRUE(std::all_of(disk_.begin() + static_cast<std::ptrdiff_t>(transfer.offset),
                                            disk_.begin() +
                                                static_cast<std::ptrdiff_t>(transfer.offset + transfer.bytes),
                                            [](std::uint8_t byte) { return byte == 0; }));
                } else {
                    ASSERT_TRUE(disk_has_ram(transfer.offset, transfer.address, transfer.bytes));
                }
            }
            made.erase(completion->token);
        }
    }
    EXPECT_FALSE(ring_.is_broken());
    EXPECT_GT(ended, 1000U);
}

TEST_F(Blocks, AFlushIsARequestOfItsOwn) {
    ASSERT_TRUE(submit(1, DiskOperation::flush, 0, 0));
    const blkif_request request = take();
    EXPECT_EQ(request.operation, BLKIF_OP_FLUSH_DISKCACHE);
    EXPECT_EQ(request.nr_segments, 0);
    EXPECT_FALSE(ring_.next());
    answer(request.id);
    EXPECT_EQ(result_of(1), DiskResult::done);
    describe(BLKIF_OP_WRITE_BARRIER);
    ASSERT_TRUE(submit(1, DiskOperation::flush, 0, 0));
    EXPECT_EQ(take().operation, BLKIF_OP_WRITE_BARRIER);
}

TEST_F(Blocks, ADurableWriteEndsBehindAFlush) {
    ASSERT_TRUE(write(1, 0, request_bytes + 512, 0, true));
    ASSERT_EQ(requests(), 2U);
    serve_one();
    EXPECT_FALSE(ring_.next());
    EXPECT_EQ(requests(), 1U);
    serve_one();
    EXPECT_FALSE(ring_.next());
    ASSERT_EQ(requests(), 1U);
    const blkif_request flush = take();
    EXPECT_EQ(flush.operation, BLKIF_OP_FLUSH_DISKCACHE);
    EXPECT_FALSE(ring_.next());
    answer(flush.id);
    EXPECT_EQ(result_of(1), DiskResult::done);
}

TEST_F(Blocks, TheFlushOfADurableWriteFindsASlot) {
    ASSERT_TRUE(write(1, 0, 512, 0, true));
    const std::uint64_t id = take().id;
    for (unsigned i = 1; i < BlockRing::requests; ++i) {
        ASSERT_TRUE(write(1 + i, 0, 512, 0));
    }
    ASSERT_EQ(requests(), BlockRing::requests - 1);
    answer(id);
    EXPECT_FALSE(ring_.next());
    for (unsigned i = 1; i < BlockRing::requests; ++i) {
        EXPECT_EQ(take().operation, BLKIF_OP_WRITE);
    }
    EXPECT_EQ(take().operation, BLKIF_OP_FLUSH_DISKCACHE);
}

TEST_F(Blocks, AFailedFlushIsAnError) {
    for (const int status : {BLKIF_RSP_ERROR, BLKIF_RSP_EOPNOTSUPP, 1, -32768}) {
        ASSERT_TRUE(submit(1, DiskOperation::flush, 0, 0));
        answer(take().id, static_cast<std::int16_t>(status));
        EXPECT_EQ(result_of(1), DiskResult::write_error);
        ASSERT_TRUE(write(2, 0, 512, 0, true));
        answer(take().id);
        EXPECT_FALSE(ring_.next());
        answer(take().id, static_cast<std::int16_t>(status));
        EXPECT_EQ(result_of(2), DiskResult::write_error);
    }
}

TEST_F(Blocks, WithoutAFlushNoneIsPromised) {
    describe(0);
    ASSERT_TRUE(submit(1, DiskOperation::flush, 0, 0));
    EXPECT_EQ(result_of(1), DiskResult::refused);
    ASSERT_TRUE(write(2, 0, 512, 0, true));
    EXPECT_EQ(result_of(2), DiskResult::refused);
    EXPECT_EQ(requests(), 0U);
    ASSERT_TRUE(write(3, 0, 512, 0));
    EXPECT_EQ(serve_until_end(3), DiskResult::done);
}

TEST_F(Blocks, ADiscardIsOneRequest) {
    ASSERT_TRUE(submit(1, DiskOperation::discard, 8192, std::uint64_t{3} << 20U));
    const blkif_request request = take();
    blkif_request_discard discard{};
    std::memcpy(&discard, &request, sizeof(discard));
    EXPECT_EQ(discard.operation, BLKIF_OP_DISCARD);
    EXPECT_EQ(discard.flag, 0);
    EXPECT_EQ(discard.handle, 51712);
    EXPECT_EQ(discard.sector_number, 16U);
    EXPECT_EQ(discard.nr_sectors, (std::uint64_t{3} << 20U) / 512);
    answer(discard.id);
    EXPECT_EQ(result_of(1), DiskResult::done);
    EXPECT_EQ(requests(), 0U);
}

TEST_F(Blocks, ADiscardThatTheBackendCannotDoDoesNothing) {
    ASSERT_TRUE(submit(1, DiskOperation::discard, 0, 4096));
    answer(take().id, BLKIF_RSP_EOPNOTSUPP);
    EXPECT_EQ(result_of(1), DiskResult::done);
    ASSERT_TRUE(submit(1, DiskOperation::discard, 0, 4096));
    answer(take().id, BLKIF_RSP_ERROR);
    EXPECT_EQ(result_of(1), DiskResult::write_error);
}

TEST_F(Blocks, ManyZerosAreManyWrites) {
    ASSERT_TRUE(submit(1, DiskOperation::write_zeroes, 512, (std::uint64_t{3} << 20U) + 512));
    EXPECT_EQ(requests(), BlockRing::requests);
    EXPECT_EQ(serve_until_end(1), DiskResult::done);
    EXPECT_EQ(std::ranges::count(std::span(disk_).subspan(512, (std::size_t{3} << 20U) + 512), 0),
              (std::int64_t{3} << 20U) + 512);
    EXPECT_NE(std::ranges::count(std::span(disk_).first(512), 0), 512);
}

TEST_F(Blocks, OneErrorIsTheTransfersAndNoMoreIsAsked) {
    ASSERT_TRUE(submit(1, DiskOperation::write_zeroes, 0, std::uint64_t{3} << 20U));
    for (unsigned i = 0; i < BlockRing::requests; ++i) {
        const std::uint64_t id = take().id;
        answer(id, i == 0 ? BLKIF_RSP_ERROR : BLKIF_RSP_OKAY);
        EXPECT_EQ(result_of(1),
                  i + 1 < BlockRing::requests ? std::nullopt : std::optional(DiskResult::write_error));
    }
    EXPECT_EQ(requests(), 0U);
}

TEST_F(Blocks, AFailedReadLeavesTheMemory) {
    const std::vector<std::uint8_t> before = ram_;
    ASSERT_TRUE(read(1, 0, 4096, 0));
    const blkif_request request = take();
    carry_out(request);
    answer(request.id, BLKIF_RSP_ERROR);
    EXPECT_EQ(result_of(1), DiskResult::read_error);
    EXPECT_EQ(ram_, before);
}

TEST_F(Blocks, PiecesThatAreNoPagesAreRefused) {
    const std::vector<DiskPiece> small(100, {.address = 0, .bytes = 512});
    ASSERT_TRUE(submit(1, DiskOperation::read, 0, std::uint64_t{100} * 512, small));
    EXPECT_EQ(result_of(1), DiskResult::refused);
    ASSERT_TRUE(submit(2, DiskOperation::write, 0, 8192, {{.address = 0, .bytes = 4096}})); // too few
    EXPECT_EQ(result_of(2), DiskResult::refused);
    ASSERT_TRUE(submit(3, DiskOperation::write, 0, 8192, std::vector<DiskPiece>(258)));
    EXPECT_EQ(result_of(3), DiskResult::refused);
    EXPECT_EQ(requests(), 0U);
}

TEST_F(Blocks, TheNextResponseIsAnEvent) {
    ASSERT_TRUE(write(1, 0, 512, 0));
    ASSERT_TRUE(write(2, 0, 512, 0));
    const std::uint64_t first = take().id;
    const std::uint64_t second = take().id;
    EXPECT_FALSE(ring_.next());
    std::uint32_t before = page_->rsp_prod;
    answer(first);
    EXPECT_TRUE(end_.must_notify(before));
    EXPECT_EQ(result_of(1), DiskResult::done);
    EXPECT_FALSE(ring_.next());
    before = page_->rsp_prod;
    answer(second);
    EXPECT_TRUE(end_.must_notify(before));
}

TEST_F(Blocks, AResponseToNothingEndsIt) {
    ASSERT_TRUE(read(1, 0, 4096, 0));
    const std::vector<std::uint8_t> before = ram_;
    const std::uint64_t id = take().id;
    answer(id + 1);
    expect_broken(1);
    EXPECT_EQ(ram_, before);
}

TEST_F(Blocks, AResponseOutsideOfAllNumbersEndsIt) {
    ASSERT_TRUE(read(1, 0, 4096, 0));
    take();
    answer(std::uint64_t{1} << 32U);
    expect_broken(1);
}

TEST_F(Blocks, TheSameResponseTwiceEndsIt) {
    ASSERT_TRUE(write(1, 0, 512, 0));
    ASSERT_TRUE(read(2, 0, 4096, 0));
    const std::uint64_t id = take().id;
    answer(id);
    answer(id);
    EXPECT_EQ(result_of(1), DiskResult::done);
    expect_broken(2);
}

TEST_F(Blocks, ResponsesThatRunAheadEndIt) {
    ASSERT_TRUE(read(1, 0, 4096, 0));
    ring_.push();
    page_->rsp_prod = 2;
    expect_broken(1);
}

TEST_F(Blocks, ResponsesThatGoBackEndIt) {
    ASSERT_TRUE(read(1, 0, 4096, 0));
    ring_.push();
    page_->rsp_prod = ~std::uint32_t{0};
    expect_broken(1);
}

TEST_F(Blocks, ResponsesToWhatWasNotPushedEndIt) {
    ASSERT_TRUE(read(1, 0, 4096, 0));
    answer(0);
    expect_broken(1);
}

// While a transfer is under way in parts, and a durable one waits for its flush.
TEST_F(Blocks, ABackendThatGoesLeavesErrors) {
    ASSERT_TRUE(write(1, 0, 512, 0, true));
    ASSERT_TRUE(submit(2, DiskOperation::write_zeroes, 0, std::uint64_t{3} << 20U));
    answer(take().id);
    ring_.give_up();
    std::set<std::uint64_t> ended;
    while (const auto completion = ring_.next()) {
        EXPECT_EQ(completion->result, DiskResult::write_error);
        ended.insert(completion->token);
    }
    EXPECT_EQ(ended, (std::set<std::uint64_t>{1, 2}));
    ASSERT_TRUE(read(1, 0, 4096, 0));
    expect_broken(1);
}

// The other domain may write to the pages at any time, also behind its response.
TEST_F(Blocks, LateWritesOfTheBackendReachNothing) {
    ASSERT_TRUE(read(1, 0, 4096, 0));
    const blkif_request request = take();
    carry_out(request);
    answer(request.id);
    EXPECT_EQ(result_of(1), DiskResult::done);
    const std::vector<std::uint8_t> before = ram_;
    std::ranges::fill(memory_, 0xff);
    for (blkif_response& response : std::span(&page_->slots[0].response, 1)) {
        response.status = BLKIF_RSP_ERROR;
    }
    EXPECT_FALSE(ring_.next());
    EXPECT_EQ(ram_, before);
}

} // namespace
} // namespace previrt::xen
