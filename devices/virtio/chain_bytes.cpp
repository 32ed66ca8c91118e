// SPDX-License-Identifier: BSD-2-Clause
#include "devices/virtio/chain_bytes.hpp"

#include <cstring>

namespace previrt::virtio {

Look ChainBytes::collect(BufferChain chain, const GuestMemory& memory, Direction direction) {
    count_ = 0;
    next_ = 0;
    bytes_ = 0;
    Buffer buffer{};
    Look look = Look::ready;
    while ((look = chain.next(memory, buffer)) == Look::ready) {
        if (buffer.device_writes != (direction == Direction::device_writes) || count_ == buffers_.size()) {
            return Look::broken;
        }
        if (buffer.bytes != 0) {
            buffers_[count_++] = buffer;
            bytes_ += buffer.bytes;
        }
    }
    return look == Look::broken ? look : Look::ready;
}

Buffer ChainBytes::take(std::uint32_t most) {
    Buffer& first = buffers_[next_];
    Buffer taken = first;
    if (first.bytes > most) {
        taken.bytes = most;
        first.address += most; // read() and write() refuse an address that has wrapped: it is not RAM
        first.bytes -= most;
    } else {
        ++next_;
    }
    bytes_ -= taken.bytes;
    return taken;
}

void ChainBytes::skip(std::uint32_t bytes) {
    while (bytes != 0) {
        bytes -= take(bytes).bytes;
    }
}

Look ChainBytes::read(const GuestMemory& memory, void* to, std::uint32_t bytes) {
    auto* place = static_cast<std::uint8_t*>(to);
    while (bytes != 0) {
        const Buffer piece = take(bytes);
        const std::uint8_t* const from = memory.to_read(piece.address, piece.bytes);
        if (from == nullptr) {
            return Look::broken;
        }
        std::memcpy(place, from, piece.bytes);
        place += piece.bytes;
        bytes -= piece.bytes;
    }
    __atomic_signal_fence(__ATOMIC_SEQ_CST); // the compiler reads memory once that the guest may change
    return Look::ready;
}

Look ChainBytes::write(const GuestMemory& memory, const void* from, std::uint32_t bytes) {
    const auto* place = static_cast<const std::uint8_t*>(from);
    while (bytes != 0) {
        const Buffer piece = take(bytes);
        std::uint8_t* const to = memory.to_write(piece.address, piece.bytes);
        if (to == nullptr) {
            return Look::broken;
        }
        std::memcpy(to, place, piece.bytes);
        place += piece.bytes;
        bytes -= piece.bytes;
    }
    return Look::ready;
}

} // namespace previrt::virtio
