// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "ethernet/frame.hpp"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>

namespace previrt::dp83820 {

// A frame in several pieces of memory.
struct FramePieces {
    static constexpr std::uint32_t most = 4;

    std::array<ethernet::Frame, most> pieces{};
    std::uint32_t count = 0;
    std::uint32_t bytes = 0;

    void add(ethernet::Frame piece) {
        pieces[count] = piece;
        ++count;
        bytes += static_cast<std::uint32_t>(piece.size());
    }

    // `offset + length` is at most `bytes`.
    void copy(std::uint32_t offset, std::uint8_t* to, std::uint32_t length) const {
        std::size_t skipped = offset;
        std::size_t left = length;
        for (const ethernet::Frame& piece : pieces) {
            const std::size_t start = std::min(skipped, piece.size());
            const std::size_t part = std::min(left, piece.size() - start);
            if (part > 0) {
                std::memcpy(to, piece.data() + start, part);
            }
            to += part;
            left -= part;
            skipped -= start;
        }
    }
};

} // namespace previrt::dp83820
