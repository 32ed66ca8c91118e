// SPDX-License-Identifier: BSD-2-Clause
#include "devices/virtio/split_queue.hpp"

#include <cstring>

namespace previrt::virtio {

namespace {

using GuestHalf [[gnu::may_alias]] = std::uint16_t;
using GuestWord [[gnu::may_alias]] = std::uint32_t;

constexpr std::uint16_t flag_next = 1;
constexpr std::uint16_t flag_write = 2;
constexpr std::uint16_t flag_indirect = 4;

constexpr std::uint64_t descriptor_bytes = 16;
constexpr std::uint64_t index_offset = 2; // of both rings; the flags are before it, the entries behind it
constexpr std::uint64_t entries_offset = 4;
constexpr std::uint64_t available_entry_bytes = 2;
constexpr std::uint64_t used_entry_bytes = 8;
constexpr std::uint16_t available_no_interrupt = 1;

// Of an address of 52 bits at most. A pointer to RAM has the address's alignment.
bool is_place(std::uint64_t address, std::uint64_t alignment) {
    return address % alignment == 0 && address >> 52U == 0;
}

bool read_half(const GuestMemory& memory, std::uint64_t address, std::uint16_t& value) {
    const std::uint8_t* const place = memory.to_read(address, sizeof value);
    if (place != nullptr) {
        value = __atomic_load_n(reinterpret_cast<const GuestHalf*>(place), __ATOMIC_ACQUIRE);
    }
    return place != nullptr;
}

} // namespace

struct BufferChain::Descriptor {
    std::uint64_t address;
    std::uint32_t bytes;
    std::uint16_t flags;
    std::uint16_t next;
};

bool SplitQueue::enable() {
    is_enabled = is_place(descriptors, 16) && is_place(available, 2) && is_place(used, 4);
    return is_enabled;
}

Look SplitQueue::look(const GuestMemory& memory, std::uint16_t& count) const {
    std::uint16_t index = 0;
    if (!read_half(memory, available + index_offset, index)) {
        return Look::broken;
    }
    count = static_cast<std::uint16_t>(index - taken);
    return count <= size ? Look::ready : Look::broken;
}

Look SplitQueue::take(const GuestMemory& memory, std::uint16_t& head) {
    const std::uint64_t entry = (taken % size) * available_entry_bytes;
    if (!read_half(memory, available + entries_offset + entry, head) || head >= size) {
        return Look::broken;
    }
    ++taken;
    return Look::ready;
}

Look SplitQueue::give_back(const GuestMemory& memory, std::uint16_t head, std::uint32_t written) {
    const std::uint64_t entry = (returned % size) * used_entry_bytes;
    std::uint8_t* const element = memory.to_write(used + entries_offset + entry, used_entry_bytes);
    std::uint8_t* const index = memory.to_write(used + index_offset, sizeof(std::uint16_t));
    if (element == nullptr || index == nullptr) {
        return Look::broken;
    }
    auto* const words = reinterpret_cast<GuestWord*>(element);
    words[0] = head;
    words[1] = written;
    ++returned;
    __atomic_store_n(reinterpret_cast<GuestHalf*>(index), returned, __ATOMIC_RELEASE);
    return Look::ready;
}

// The driver looks at the used ring after it has allowed interrupts; the device, the other way round.
bool SplitQueue::wants_interrupt(const GuestMemory& memory) const {
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    std::uint16_t flags = 0;
    return !read_half(memory, available, flags) || (flags & available_no_interrupt) == 0;
}

// An indirect table takes the place of the rest of the chain, and it has no further one within.
bool BufferChain::enter_table(const Descriptor& descriptor) {
    const bool is_right = may_be_indirect_ && (descriptor.flags & flag_next) == 0 && descriptor.bytes != 0 &&
                          descriptor.bytes % descriptor_bytes == 0;
    table_ = descriptor.address;
    entries_ = descriptor.bytes / static_cast<std::uint32_t>(descriptor_bytes);
    next_ = 0;
    may_be_indirect_ = false;
    return is_right;
}

Look BufferChain::next(const GuestMemory& memory, Buffer& buffer) {
    if (!has_next_) {
        return Look::nothing;
    }
    Descriptor descriptor{};
    static_assert(sizeof descriptor == descriptor_bytes);
    do {
        if (next_ >= entries_ || left_ == 0) {
            return Look::broken;
        }
        const std::uint64_t offset = next_ * descriptor_bytes;
        const std::uint8_t* const place =
            table_ + offset >= table_ ? memory.to_read(table_ + offset, descriptor_bytes) : nullptr;
        if (place == nullptr) {
            return Look::broken;
        }
        std::memcpy(&descriptor, place, sizeof descriptor);
        __atomic_signal_fence(__ATOMIC_SEQ_CST); // the compiler reads memory once that the guest may change
    } while ((descriptor.flags & flag_indirect) != 0 && enter_table(descriptor));
    if ((descriptor.flags & flag_indirect) != 0) {
        return Look::broken;
    }
    --left_;
    next_ = descriptor.next;
    has_next_ = (descriptor.flags & flag_next) != 0;
    buffer = {.address = descriptor.address,
              .bytes = descriptor.bytes,
              .device_writes = (descriptor.flags & flag_write) != 0};
    return Look::ready;
}

} // namespace previrt::virtio
