// SPDX-License-Identifier: BSD-2-Clause
// Built for both the VMM and the monitor.
#include "backends/common/contract/disk_ring.hpp"

#include <cstring>

namespace previrt::monitored {

namespace {

using backend::DiskPiece;

// Also of a request that has to wait: the peer calls when it has made room.
template <typename Ring>
std::span<std::uint8_t> room_for(RecordWriter<Ring>& writer, std::uint32_t bytes) {
    const std::span<std::uint8_t> room = writer.reserve(bytes);
    return !room.empty() || writer.wait(bytes) ? room : writer.reserve(bytes);
}

} // namespace

bool DiskRequests::submit(const backend::DiskRequest& request) {
    const auto piece_bytes = static_cast<std::uint32_t>(request.pieces.size_bytes());
    const std::uint32_t bytes = sizeof(DiskRequestRecord) + piece_bytes;
    const std::span<std::uint8_t> room = room_for(requests_, bytes);
    if (room.empty()) {
        return false;
    }
    const DiskRequestRecord record{.token = request.token,
                                   .offset = request.offset,
                                   .bytes = request.bytes,
                                   .operation = static_cast<std::uint8_t>(request.operation),
                                   .is_durable = request.is_durable ? std::uint8_t{1} : std::uint8_t{0},
                                   .reserved = {}};
    std::memcpy(room.data(), &record, sizeof(record));
    if (piece_bytes != 0) {
        std::memcpy(&room[sizeof(record)], request.pieces.data(), piece_bytes);
    }
    requests_.commit({.bytes = bytes, .attributes = {}});
    has_submitted_ = true;
    return true;
}

std::optional<backend::DiskCompletion> DiskRequests::next_completion() {
    for (;;) {
        std::optional<Record> record = completions_.next();
        if (!record && !completions_.wait()) {
            record = completions_.next();
        }
        if (!record) {
            return {};
        }
        DiskCompletionRecord completion;
        const bool is_whole = record->bytes.size() == sizeof(completion);
        if (is_whole) {
            std::memcpy(&completion, record->bytes.data(), sizeof(completion));
        }
        completions_.release();
        has_taken_ = true;
        if (is_whole && completion.result <= static_cast<std::uint8_t>(backend::DiskResult::refused)) {
            return backend::DiskCompletion{.token = completion.token,
                                           .result = static_cast<backend::DiskResult>(completion.result)};
        }
    }
}

bool DiskRequests::must_call() {
    // Call both, because each clears its flag.
    const bool for_requests = has_submitted_ && requests_.must_call();
    const bool for_room = has_taken_ && completions_.must_call();
    has_submitted_ = false;
    has_taken_ = false;
    return for_requests || for_room;
}

bool DiskRequests::monitor_waits() {
    has_submitted_ = has_submitted_ && requests_.reader_waits();
    has_taken_ = has_taken_ && completions_.writer_waits();
    return has_submitted_ || has_taken_;
}

bool DiskCompletions::take(TakenDiskRequest& request) {
    while (const std::optional<Record> record = requests_.next()) {
        const std::size_t bytes = record->bytes.size();
        const bool is_whole =
            bytes >= sizeof(request.record) && (bytes - sizeof(request.record)) % sizeof(DiskPiece) == 0;
        if (is_whole) {
            const std::size_t piece_bytes = bytes - sizeof(request.record);
            std::memcpy(&request.record, record->bytes.data(), sizeof(request.record));
            std::memcpy(request.pieces.data(), record->bytes.data() + sizeof(request.record), piece_bytes);
            request.piece_count = static_cast<std::uint32_t>(piece_bytes / sizeof(DiskPiece));
        }
        requests_.release();
        has_taken_ = true;
        if (is_whole) {
            return true;
        }
    }
    return false;
}

bool DiskCompletions::complete(const backend::DiskCompletion& completion) {
    const std::span<std::uint8_t> room = completions_.reserve(sizeof(DiskCompletionRecord));
    if (room.empty()) {
        return false;
    }
    const DiskCompletionRecord record{
        .token = completion.token, .result = static_cast<std::uint8_t>(completion.result), .reserved = {}};
    std::memcpy(room.data(), &record, sizeof(record));
    completions_.commit({.bytes = sizeof(record), .attributes = {}});
    has_completed_ = true;
    return true;
}

bool DiskCompletions::must_call() {
    // Call both, because each clears its flag.
    const bool for_completions = has_completed_ && completions_.must_call();
    const bool for_room = has_taken_ && requests_.must_call();
    has_completed_ = false;
    has_taken_ = false;
    return for_completions || for_room;
}

bool DiskCompletions::wait_for_request() {
    return requests_.wait();
}

} // namespace previrt::monitored
