// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/virtio/split_queue.hpp"

#include <array>
#include <cstdint>

namespace previrt::virtio {

// The buffers of a chain as one row of bytes, which is read or written from its start on.
class ChainBytes {
public:
    enum class Direction : std::uint8_t { device_reads, device_writes };

    // Copies the descriptions of a chain's buffers. Broken: one has the other direction.
    [[nodiscard]] Look collect(BufferChain chain, const GuestMemory& memory, Direction direction);

    // The number of bytes that are left.
    [[nodiscard]] std::uint64_t bytes() const { return bytes_; }
    // `bytes` is bytes() at most. Broken: a part is not RAM.
    [[nodiscard]] Look read(const GuestMemory& memory, void* to, std::uint32_t bytes);
    void skip(std::uint32_t bytes);
    [[nodiscard]] Look write(const GuestMemory& memory, const void* from, std::uint32_t bytes);

private:
    // The next bytes in one piece: at most `most`, and not none.
    [[nodiscard]] Buffer take(std::uint32_t most);

    std::array<Buffer, SplitQueue::most_descriptors> buffers_;
    std::uint16_t count_ = 0;
    std::uint16_t next_ = 0;
    std::uint64_t bytes_ = 0;
};

} // namespace previrt::virtio
