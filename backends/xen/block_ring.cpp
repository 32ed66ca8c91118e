// SPDX-License-Identifier: BSD-2-Clause
#include "backends/xen/block_ring.hpp"

#include <algorithm>
#include <cstring>

namespace previrt::xen {

using backend::DiskOperation;
using backend::DiskResult;

namespace {

bool is_read(DiskOperation operation) {
    return operation == DiskOperation::read;
}

// The interface has one error for all reasons.
DiskResult error_of(DiskOperation operation) {
    return is_read(operation) ? DiskResult::read_error : DiskResult::write_error;
}

} // namespace

void BlockRing::start(BlockPage& page, std::uint8_t* memory, grant_ref_t first_grant, std::uint8_t* ram) {
    ring_.start(page);
    memory_ = memory;
    first_grant_ = first_grant;
    ram_ = ram;
}

std::optional<std::uint32_t> BlockRing::free_request() const {
    const auto* const found =
        std::ranges::find_if(requests_, [](const Request& one) { return !one.is_made; });
    return found == requests_.end() ? std::nullopt
                                    : std::optional(static_cast<std::uint32_t>(found - requests_.begin()));
}

bool BlockRing::submit(const backend::DiskRequest& request) {
    auto* const transfer =
        std::ranges::find_if(transfers_, [](const Transfer& one) { return one.course == Course::free; });
    if (rest_.is_there || transfer == transfers_.end()) {
        return false;
    }
    *transfer = {.token = request.token,
                 .unanswered = 0,
                 .operation = request.operation,
                 .is_durable = request.is_durable,
                 .result = DiskResult::done,
                 .course = Course::runs};
    if (ring_.is_broken()) {
        transfer->result = error_of(request.operation);
        transfer->course = Course::ended;
        return true;
    }
    const bool needs_flush = request.operation == DiskOperation::flush || request.is_durable;
    if ((needs_flush && device_.flush_operation == 0) || request.pieces.size() > rest_.pieces.size()) {
        transfer->result = DiskResult::refused;
        transfer->course = Course::ended;
        return true;
    }
    if (request.operation == DiskOperation::flush) {
        transfer->course = Course::flush_is_due;
    } else {
        std::ranges::copy(request.pieces, rest_.pieces.begin());
        rest_.piece_count = static_cast<std::uint32_t>(request.pieces.size());
        rest_.piece = 0;
        rest_.offset = request.offset;
        rest_.bytes = request.bytes;
        rest_.transfer = static_cast<std::uint8_t>(transfer - transfers_.begin());
        rest_.is_there = true;
    }
    make_requests();
    return true;
}

void BlockRing::make_requests() {
    for (std::uint8_t i = 0; i < most_transfers; ++i) {
        if (transfers_[i].course == Course::flush_is_due) {
            if (const auto number = free_request()) {
                put_flush(*number, i);
            }
        }
    }
    while (rest_.is_there) {
        const auto number = free_request();
        if (!number) {
            return;
        }
        make_request(*number);
    }
}

// The next of the rest.
void BlockRing::make_request(std::uint32_t number) {
    Transfer& transfer = transfers_[rest_.transfer];
    if (transfer.result != DiskResult::done) { // an earlier request has failed: the rest changes nothing
        rest_.is_there = false;
        follow(transfer);
        return;
    }
    if (transfer.operation == DiskOperation::discard) {
        put_discard(number);
        return;
    }
    const std::uint64_t bytes = std::min(rest_.bytes, bytes_of_request);
    if (!take_data(requests_[number], memory_of(number), bytes, transfer.operation)) {
        transfer.result = DiskResult::refused;
        rest_.is_there = false;
        follow(transfer);
        return;
    }
    put_data(number, is_read(transfer.operation) ? BLKIF_OP_READ : BLKIF_OP_WRITE, bytes);
}

// Writes the data of a write, or remembers the place of a read's. False: the pieces have fewer bytes, or are
// more than pages can be.
bool BlockRing::take_data(Request& request, std::uint8_t* data, std::uint64_t bytes,
                          DiskOperation operation) {
    request.piece_count = 0;
    if (operation == DiskOperation::write_zeroes) {
        std::memset(data, 0, bytes);
        return true;
    }
    while (bytes != 0) {
        if (rest_.piece == rest_.piece_count || request.piece_count == most_pieces) {
            return false;
        }
        backend::DiskPiece& piece = rest_.pieces[rest_.piece];
        const std::uint64_t part = std::min(bytes, piece.bytes);
        if (is_read(operation)) {
            request.pieces[request.piece_count++] = {.address = piece.address, .bytes = part};
        } else {
            std::memcpy(data, ram_ + piece.address, part);
            data += part;
        }
        bytes -= part;
        piece.address += part;
        piece.bytes -= part;
        rest_.piece += piece.bytes == 0 ? 1 : 0;
    }
    return true;
}

void BlockRing::claim(std::uint32_t number, std::uint8_t transfer) {
    requests_[number].transfer = transfer;
    requests_[number].is_made = true;
    ++transfers_[transfer].unanswered;
}

void BlockRing::put_data(std::uint32_t number, std::uint8_t operation, std::uint64_t bytes) {
    blkif_request request{};
    request.operation = operation;
    request.handle = static_cast<blkif_vdev_t>(device_.number);
    request.id = number;
    request.sector_number = rest_.offset / sector_bytes;
    for (std::uint64_t done = 0; done < bytes; done += page_size) {
        const std::uint64_t part = std::min(bytes - done, page_size);
        request.seg[request.nr_segments] = {
            .gref = first_grant_ + (number * pages_of_request) + request.nr_segments,
            .first_sect = 0,
            .last_sect = static_cast<std::uint8_t>((part / sector_bytes) - 1)};
        ++request.nr_segments;
    }
    claim(number, rest_.transfer);
    ring_.put(request);
    rest_.offset += bytes;
    rest_.bytes -= bytes;
    rest_.is_there = rest_.bytes != 0;
}

void BlockRing::put_flush(std::uint32_t number, std::uint8_t transfer) {
    blkif_request request{};
    request.operation = device_.flush_operation;
    request.handle = static_cast<blkif_vdev_t>(device_.number);
    request.id = number;
    transfers_[transfer].course = Course::runs;
    transfers_[transfer].is_durable = false;
    claim(number, transfer);
    ring_.put(request);
}

void BlockRing::put_discard(std::uint32_t number) {
    blkif_request_discard discard{};
    discard.operation = BLKIF_OP_DISCARD;
    discard.handle = static_cast<blkif_vdev_t>(device_.number);
    discard.id = number;
    discard.sector_number = rest_.offset / sector_bytes;
    discard.nr_sectors = rest_.bytes / sector_bytes;
    blkif_request request{};
    std::memcpy(&request, &discard, sizeof(discard));
    claim(number, rest_.transfer);
    ring_.put(request);
    rest_.is_there = false;
}

// Behind a change: all requests of a transfer may have been answered.
void BlockRing::follow(Transfer& transfer) const {
    const bool has_rest = rest_.is_there && &transfers_[rest_.transfer] == &transfer;
    if (transfer.unanswered != 0 || has_rest) {
        return;
    }
    transfer.course =
        transfer.is_durable && transfer.result == DiskResult::done ? Course::flush_is_due : Course::ended;
}

void BlockRing::give_data(const Request& request, const std::uint8_t* data) const {
    for (std::uint32_t i = 0; i < request.piece_count; ++i) {
        std::memcpy(ram_ + request.pieces[i].address, data, request.pieces[i].bytes);
        data += request.pieces[i].bytes;
    }
}

void BlockRing::answer(Transfer& transfer, std::int16_t status) {
    // A discard is a hint, which a back-end may be unable to follow after all.
    const bool is_ignored = transfer.operation == DiskOperation::discard && status == BLKIF_RSP_EOPNOTSUPP;
    if (status != BLKIF_RSP_OKAY && !is_ignored) {
        transfer.result = error_of(transfer.operation);
    }
    --transfer.unanswered;
    follow(transfer);
}

void BlockRing::take_response(const blkif_response& response) {
    if (response.id >= requests || !requests_[response.id].is_made) {
        ring_.give_up();
        return;
    }
    Request& request = requests_[response.id];
    Transfer& transfer = transfers_[request.transfer];
    request.is_made = false;
    if (is_read(transfer.operation) && response.status == BLKIF_RSP_OKAY) {
        give_data(request, memory_of(static_cast<std::uint32_t>(response.id)));
    }
    answer(transfer, response.status);
}

void BlockRing::take_responses() {
    while (const std::optional<blkif_response> response = ring_.take()) {
        take_response(*response);
    }
    if (ring_.is_broken()) {
        end_all();
    }
}

// The pages are the VMM's own: whatever the back-end does with them, it can do.
void BlockRing::end_all() {
    rest_.is_there = false;
    for (Request& request : requests_) {
        request.is_made = false;
    }
    for (Transfer& transfer : transfers_) {
        if (transfer.course == Course::runs || transfer.course == Course::flush_is_due) {
            transfer.unanswered = 0;
            transfer.result = error_of(transfer.operation);
            transfer.course = Course::ended;
        }
    }
}

std::optional<backend::DiskCompletion> BlockRing::take_ended() {
    auto* const transfer =
        std::ranges::find_if(transfers_, [](const Transfer& one) { return one.course == Course::ended; });
    if (transfer == transfers_.end()) {
        return {};
    }
    transfer->course = Course::free;
    return backend::DiskCompletion{.token = transfer->token, .result = transfer->result};
}

std::optional<backend::DiskCompletion> BlockRing::next() {
    do {
        take_responses();
        make_requests();
        if (const auto completion = take_ended()) {
            return completion;
        }
    } while (!ring_.wait(1));
    return {};
}

} // namespace previrt::xen
