// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "inplace-vmm/backend/disk.hpp"

#include <cstdint>
#include <optional>
#include <span>

namespace previrt::backend {

// Of one request, in data and in pieces.
constexpr std::uint32_t most_request_bytes = std::uint32_t{1} << 20U;
constexpr std::uint32_t most_request_pieces = 257; // pages of 4 KiB, the first of which may begin anywhere

unsigned disk_count(); // fixed from the start
Disk disk(unsigned number);

enum class DiskOperation : std::uint8_t { read, write, flush, write_zeroes, discard };

// Guest-physical memory. All of it is RAM.
struct DiskPiece {
    std::uint64_t address;
    std::uint64_t bytes;
};
static_assert(sizeof(DiskPiece) == 16);

struct DiskRequest {
    std::uint64_t token; // comes back with the completion
    DiskOperation operation;
    bool is_durable;      // of a write: completed when it is on stable storage
    std::uint64_t offset; // on the disk, in bytes; whole blocks, within the disk
    std::uint64_t bytes;
    std::span<const DiskPiece> pieces; // of reads and writes: `bytes` in all
};

enum class DiskResult : std::uint8_t { done, read_error, write_error, no_space, refused };

struct DiskCompletion {
    std::uint64_t token;
    DiskResult result;
};

// Requests may complete in any order. The host reads and writes the guest's memory until a request has
// completed. False: there is no room, and an event comes when there is.
bool submit(unsigned disk, const DiskRequest& request);
// nullopt: there is none, and an event comes with the next.
std::optional<DiskCompletion> next_completion(unsigned disk);
// Tells the host, after some were submitted or taken.
void notify_disks();
// Whether the host sleeps until notify_disks(). Otherwise it sees by itself what was submitted and taken.
bool disks_wait();

} // namespace previrt::backend
