// SPDX-License-Identifier: BSD-2-Clause
#include "tests/unit/vmm/fake_disks.hpp"

#include "inplace-vmm/backend/memory.hpp"
#include "tests/unit/vmm/fake_backend.hpp"

#include <algorithm>
#include <cstring>

namespace previrt {

namespace fake {

std::vector<Disk> disks;

Disk& add_disk(std::uint64_t bytes, std::uint32_t block_bytes) {
    Disk disk;
    disk.description = {.bytes = bytes,
                        .block_bytes = block_bytes,
                        .is_read_only = false,
                        .keeps_writes = true,
                        .discards = true};
    disk.bytes.resize(bytes);
    return disks.emplace_back(disk);
}

void Disk::execute(std::size_t place) {
    const DiskWork& what = work.at(place);
    std::uint64_t at = what.offset;
    for (const backend::DiskPiece& piece : what.pieces) {
        std::uint8_t* const memory = backend::guest_ram() + piece.address;
        if (what.operation == backend::DiskOperation::read) {
            std::memcpy(memory, bytes.data() + at, piece.bytes);
        } else {
            std::memcpy(bytes.data() + at, memory, piece.bytes);
        }
        at += piece.bytes;
    }
    if (what.operation == backend::DiskOperation::write_zeroes ||
        what.operation == backend::DiskOperation::discard) {
        std::memset(bytes.data() + what.offset, 0, what.bytes);
    }
}

void Disk::end(std::size_t place, backend::DiskResult result) {
    ends.push_back({.token = work.at(place).token, .result = result});
    work.erase(work.begin() + static_cast<std::ptrdiff_t>(place));
}

void Disk::work_off() {
    while (!work.empty()) {
        execute();
        end();
    }
}

namespace {

void check_request(const Disk& disk, const backend::DiskRequest& request) {
    using enum backend::DiskOperation;
    const bool has_data = request.operation == read || request.operation == write;
    std::uint64_t bytes = 0;
    for (const backend::DiskPiece& piece : request.pieces) {
        if (piece.address > backend::guest_ram_bytes() ||
            piece.bytes > backend::guest_ram_bytes() - piece.address || piece.bytes == 0) {
            throw Misuse("a piece of a disk's request is not RAM");
        }
        bytes += piece.bytes;
    }
    const std::uint32_t block = disk.description.block_bytes;
    if (request.offset > disk.bytes.size() || request.bytes > disk.bytes.size() - request.offset ||
        request.offset % block != 0 || request.bytes % block != 0) {
        throw Misuse("a request outside the disk");
    }
    if (bytes != (has_data ? request.bytes : 0) || bytes > backend::most_request_bytes ||
        request.pieces.size() > backend::most_request_pieces) {
        throw Misuse("the pieces of a disk's request are not its data");
    }
    if ((request.bytes == 0) != (request.operation == flush) ||
        (disk.description.is_read_only && request.operation != read)) {
        throw Misuse("a request that the disk does not know");
    }
}

} // namespace

} // namespace fake

namespace backend {

namespace {
// Requests to each disk, since notify_disks(). No host waits until completions are taken.
std::vector<bool> moved;
} // namespace

unsigned disk_count() {
    return static_cast<unsigned>(fake::disks.size());
}

Disk disk(unsigned number) {
    return fake::disks.at(number).description;
}

bool submit(unsigned disk, const DiskRequest& request) {
    fake::Disk& to = fake::disks.at(disk);
    fake::check_request(to, request);
    if (to.work.size() >= to.room) {
        return false;
    }
    to.work.push_back({.token = request.token,
                       .operation = request.operation,
                       .is_durable = request.is_durable,
                       .offset = request.offset,
                       .bytes = request.bytes,
                       .pieces = {request.pieces.begin(), request.pieces.end()}});
    moved.resize(fake::disks.size());
    moved[disk] = true;
    return true;
}

std::optional<DiskCompletion> next_completion(unsigned disk) {
    fake::Disk& from = fake::disks.at(disk);
    from.waits_for_end = from.ends.empty();
    if (from.ends.empty()) {
        return {};
    }
    const DiskCompletion completion = from.ends.front();
    from.ends.pop_front();
    return completion;
}

bool disks_wait() {
    moved.resize(fake::disks.size());
    bool some_waits = false;
    for (std::size_t i = 0; i < moved.size(); ++i) {
        moved[i] = moved[i] && fake::disks[i].sleeps;
        some_waits |= moved[i];
    }
    return some_waits;
}

void notify_disks() {
    moved.resize(fake::disks.size());
    for (std::size_t i = 0; i < moved.size(); ++i) {
        fake::disks[i].calls += moved[i] ? 1 : 0;
        moved[i] = false;
    }
}

} // namespace backend

} // namespace previrt
