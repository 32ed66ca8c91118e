// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/dp83820/frame_pieces.hpp"

#include <array>
#include <cstdint>

namespace previrt::dp83820 {

// The status for the last descriptor of a frame.
struct FrameStatus {
    std::uint32_t cmdsts;
    std::uint32_t extsts;
};

// The receive data FIFO: frames that wait for descriptors.
struct FrameFifo {
    static constexpr std::uint32_t size = 32'768;

    struct Entry {
        FrameStatus status;
        std::uint32_t bytes;
    };

    std::array<std::uint8_t, size> memory{};
    std::uint32_t first = 0;
    std::uint32_t used = 0;
    std::uint32_t placed = 0; // bytes of the first frame that the guest already has

    [[nodiscard]] bool empty() const { return used == 0; }
    [[nodiscard]] bool has_room(std::uint32_t bytes) const { return sizeof(Entry) + bytes <= size - used; }
    // has_room() must be true. The guest already has `already` bytes of the frame; only the first frame may
    // have any.
    void push(const FramePieces& frame, FrameStatus status, std::uint32_t already);
    // empty() must be false. The pieces are valid until the next change.
    [[nodiscard]] FrameStatus front_status() const { return front().status; }
    [[nodiscard]] FramePieces front_frame() const;
    void pop();
    void clear() { used = placed = 0; }

private:
    [[nodiscard]] Entry front() const;
    [[nodiscard]] FramePieces range(std::uint32_t offset, std::uint32_t bytes) const;
    void append(const std::uint8_t* from, std::uint32_t bytes);
};

} // namespace previrt::dp83820
