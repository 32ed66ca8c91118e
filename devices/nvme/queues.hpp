// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/nvme/command.hpp"
#include "devices/nvme/status.hpp"
#include "devices/pci/guest_memory.hpp"

#include <cstdint>
#include <type_traits>

namespace previrt::nvme {

// Of either kind, in the guest's memory. The driver chooses its address; it is checked at each use.
struct Queue {
    std::uint64_t base = 0; // at the start of a page
    std::uint16_t size = 0; // 0: there is no such queue
    std::uint16_t head = 0;
    std::uint16_t tail = 0;

    [[nodiscard]] bool exists() const { return size != 0; }
    [[nodiscard]] std::uint16_t used() const { return distance(head, tail); }
    [[nodiscard]] std::uint16_t distance(std::uint16_t from, std::uint16_t to) const {
        return static_cast<std::uint16_t>(to >= from ? to - from : size - from + to);
    }
    [[nodiscard]] std::uint16_t next(std::uint16_t entry) const {
        return static_cast<std::uint16_t>(entry + 1 == size ? 0 : entry + 1);
    }
};

struct SubmissionQueue : Queue {
    std::uint16_t completion_queue = 0;
    std::uint16_t in_flight = 0; // commands that were taken and have not ended
    std::uint16_t deletion = 0;  // the command that waits for these
    bool is_being_deleted = false;

    // False: the driver cannot mean this value of the doorbell.
    [[nodiscard]] bool move_tail(std::uint32_t value);
    // A copy of the command at the head, which there must be. False: it is not in RAM.
    [[nodiscard]] bool read(const GuestMemory& memory, Command& command) const;
};

struct CompletionQueue : Queue {
    std::uint16_t reserved = 0; // entries, for commands that were taken
    std::uint16_t users = 0;    // submission queues
    bool phase = true;
    bool interrupts = false;

    [[nodiscard]] bool move_head(std::uint32_t value);
    // One entry stays empty.
    [[nodiscard]] bool has_room() const { return used() + reserved + 1 < size; }
    // False: it is not in RAM.
    [[nodiscard]] bool post(const GuestMemory& memory, const Completion& completion);
};

static_assert(std::is_trivially_copyable_v<SubmissionQueue> && std::is_trivially_copyable_v<CompletionQueue>);

} // namespace previrt::nvme
