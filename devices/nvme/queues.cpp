// SPDX-License-Identifier: BSD-2-Clause
#include "devices/nvme/queues.hpp"

#include <cstddef>
#include <cstring>

namespace previrt::nvme {

namespace {

using GuestWord [[gnu::may_alias]] = std::uint32_t;

constexpr std::uint32_t phase_tag = 1U << 16U;

} // namespace

bool SubmissionQueue::move_tail(std::uint32_t value) {
    if (value >= size || used() + distance(tail, static_cast<std::uint16_t>(value)) >= size) {
        return false;
    }
    tail = static_cast<std::uint16_t>(value);
    return true;
}

bool SubmissionQueue::read(const GuestMemory& memory, Command& command) const {
    const std::uint8_t* const place =
        memory.to_read(base + (std::uint64_t{head} * sizeof(Command)), sizeof(Command));
    if (place == nullptr) {
        return false;
    }
    std::memcpy(&command, place, sizeof(command));
    __atomic_signal_fence(__ATOMIC_SEQ_CST); // the compiler reads memory once that the guest may change
    return true;
}

bool CompletionQueue::move_head(std::uint32_t value) {
    if (value >= size || distance(head, static_cast<std::uint16_t>(value)) > used()) {
        return false;
    }
    head = static_cast<std::uint16_t>(value);
    return true;
}

bool CompletionQueue::post(const GuestMemory& memory, const Completion& completion) {
    std::uint8_t* const place =
        memory.to_write(base + (std::uint64_t{tail} * sizeof(Completion)), sizeof(Completion));
    if (place == nullptr) {
        return false;
    }
    constexpr std::size_t last = offsetof(Completion, identifier_and_status);
    std::memcpy(place, &completion, last);
    // The driver looks at the phase tag first.
    __atomic_store_n(reinterpret_cast<GuestWord*>(place + last),
                     completion.identifier_and_status | (phase ? phase_tag : 0), __ATOMIC_RELEASE);
    tail = next(tail);
    phase = tail == 0 ? !phase : phase;
    return true;
}

} // namespace previrt::nvme
