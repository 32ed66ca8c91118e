// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/common/contract/record_ring.hpp"
#include "inplace-vmm/backend/disks.hpp"

#include <array>
#include <cstdint>
#include <optional>

namespace previrt::monitored {

// Requests for a disk go from the VMM to the monitor, completions go back.

// Behind it in the record are its pieces.
struct DiskRequestRecord {
    std::uint64_t token;
    std::uint64_t offset;
    std::uint64_t bytes;
    std::uint8_t operation; // a backend::DiskOperation
    std::uint8_t is_durable;
    std::uint8_t reserved[6];
};
static_assert(sizeof(DiskRequestRecord) == 32);

struct DiskRequestRing {
    static constexpr std::uint32_t longest =
        sizeof(DiskRequestRecord) + (backend::most_request_pieces * sizeof(backend::DiskPiece));
    RingCounters counters;
    std::uint8_t bytes[std::uint32_t{1} << 16U];
};
static_assert(sizeof(DiskRequestRing) == (1U << 16U) + 128);

struct DiskCompletionRecord {
    std::uint64_t token;
    std::uint8_t result; // a backend::DiskResult
    std::uint8_t reserved[7];
};
static_assert(sizeof(DiskCompletionRecord) == 16);

struct DiskCompletionRing {
    static constexpr std::uint32_t longest = sizeof(DiskCompletionRecord);
    RingCounters counters;
    std::uint8_t bytes[std::uint32_t{1} << 13U];
};
static_assert(sizeof(DiskCompletionRing) == (1U << 13U) + 128);

// A request as it came: nothing of it is checked but that it has as many pieces as its record has room for.
struct TakenDiskRequest {
    DiskRequestRecord record;
    std::uint32_t piece_count;
    std::array<backend::DiskPiece, backend::most_request_pieces> pieces;
};

// The VMM's end of a disk.
class DiskRequests {
public:
    DiskRequests(DiskRequestRing& requests, DiskCompletionRing& completions)
        : requests_(requests), completions_(completions) {}

    // As backend::submit and backend::next_completion.
    bool submit(const backend::DiskRequest& request);
    std::optional<backend::DiskCompletion> next_completion();
    // Called once after some of both: whether the monitor waits for the doorbell.
    bool must_call();
    // The same, and must_call() is called later. False: the monitor sees all of them by itself.
    bool monitor_waits();

private:
    RecordWriter<DiskRequestRing> requests_;
    RecordReader<DiskCompletionRing> completions_;
    bool has_submitted_ = false;
    bool has_taken_ = false;
};

// The monitor's end.
class DiskCompletions {
public:
    DiskCompletions(DiskRequestRing& requests, DiskCompletionRing& completions)
        : requests_(requests), completions_(completions) {}

    // Copies the next request. False: there is none.
    bool take(TakenDiskRequest& request);
    // False: there is no room now.
    bool complete(const backend::DiskCompletion& completion);
    // Called once after some of both: whether the VMM waits for the doorbell.
    bool must_call();
    // Announces that the monitor waits for a request. False: one has come already.
    bool wait_for_request();
    // Announces that it waits for room for a completion. False: there is room already.
    bool wait_for_room() { return completions_.wait(sizeof(DiskCompletionRecord)); }

private:
    RecordReader<DiskRequestRing> requests_;
    RecordWriter<DiskCompletionRing> completions_;
    bool has_taken_ = false;
    bool has_completed_ = false;
};

} // namespace previrt::monitored
