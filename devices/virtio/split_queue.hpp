// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/pci/guest_memory.hpp"

#include <cstdint>
#include <type_traits>

namespace previrt::virtio {

// Broken: the driver's structures lead out of RAM, or contradict the specification. The device then needs a
// reset.
enum class Look : std::uint8_t { ready, nothing, broken };

// A copy: the driver may change its own at any time.
struct Buffer {
    std::uint64_t address;
    std::uint32_t bytes;
    bool device_writes; // otherwise it reads
};

// A split virtqueue, as section 2.7 of the specification has it. The driver chooses all addresses, and
// everything that is in memory; each is checked when it is used.
struct SplitQueue {
    static constexpr std::uint16_t most_descriptors = 64;

    std::uint64_t descriptors = 0; // guest-physical
    std::uint64_t available = 0;   // the driver's ring
    std::uint64_t used = 0;        // the device's
    std::uint16_t size = 0;        // a power of two; 0: there is no such queue
    std::uint16_t taken = 0;       // chains of the available ring
    std::uint16_t returned = 0;
    bool is_enabled = false;

    // False: an address has not the alignment that the specification wants, or more bits than any
    // processor's.
    [[nodiscard]] bool enable();
    // Only if it is enabled:
    // Chains that wait; `count` is at most `size`. Never nothing.
    [[nodiscard]] Look look(const GuestMemory& memory, std::uint16_t& count) const;
    // The first descriptor of the next chain, which there must be.
    [[nodiscard]] Look take(const GuestMemory& memory, std::uint16_t& head);
    // The device has written so many bytes into the chain's buffers.
    [[nodiscard]] Look give_back(const GuestMemory& memory, std::uint16_t head, std::uint32_t written);
    // After chains were given back.
    [[nodiscard]] bool wants_interrupt(const GuestMemory& memory) const;
};

static_assert(std::is_trivially_copyable_v<SplitQueue>);

// The buffers of one chain, in their order. It ends after `size` buffers at the latest, whatever the driver
// has linked.
class BufferChain {
public:
    BufferChain(const SplitQueue& queue, std::uint16_t head, bool may_be_indirect)
        : table_(queue.descriptors), entries_(queue.size), left_(queue.size), next_(head),
          may_be_indirect_(may_be_indirect) {}

    [[nodiscard]] Look next(const GuestMemory& memory, Buffer& buffer);

private:
    struct Descriptor;

    [[nodiscard]] bool enter_table(const Descriptor& descriptor);

    std::uint64_t table_;
    std::uint32_t entries_; // of the table
    std::uint16_t left_;    // buffers
    std::uint16_t next_;
    bool may_be_indirect_; // the table is the queue's own, and indirect ones are negotiated
    bool has_next_ = true;
};

} // namespace previrt::virtio
