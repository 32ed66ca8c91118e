// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "inplace-vmm/backend/disks.hpp"

#include <cstdint>
#include <deque>
#include <vector>

namespace previrt::fake {

struct DiskWork {
    std::uint64_t token;
    backend::DiskOperation operation;
    bool is_durable;
    std::uint64_t offset;
    std::uint64_t bytes;
    std::vector<backend::DiskPiece> pieces;
};

// A disk of the host, which does its work when the test says so.
struct Disk {
    backend::Disk description{};
    std::vector<std::uint8_t> bytes;
    std::size_t room = 1000;   // requests that may wait
    std::deque<DiskWork> work; // the oldest first
    std::deque<backend::DiskCompletion> ends;
    bool waits_for_end = false; // an event comes with the next
    bool sleeps = true;         // until notify_disks()
    unsigned calls = 0;         // of notify_disks() where there was something to tell

    // Does the work at this place of the queue, without telling.
    void execute(std::size_t place = 0);
    void end(std::size_t place = 0, backend::DiskResult result = backend::DiskResult::done);
    // All of it.
    void work_off();
};

// In their order. Empty: the guest has none.
extern std::vector<Disk> disks;
Disk& add_disk(std::uint64_t bytes, std::uint32_t block_bytes = 512);

} // namespace previrt::fake
