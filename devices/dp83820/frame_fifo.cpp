// SPDX-License-Identifier: BSD-2-Clause
#include "devices/dp83820/frame_fifo.hpp"

namespace previrt::dp83820 {

using namespace ethernet;

void FrameFifo::append(const std::uint8_t* from, std::uint32_t bytes) {
    const std::uint32_t end = (first + used) % size;
    const std::uint32_t before_wrap = std::min(bytes, size - end);
    std::memcpy(memory.data() + end, from, before_wrap);
    std::memcpy(memory.data(), from + before_wrap, bytes - before_wrap);
    used += bytes;
}

void FrameFifo::push(const FramePieces& frame, FrameStatus status, std::uint32_t already) {
    if (empty()) {
        placed = already;
    }
    const Entry entry{.status = status, .bytes = frame.bytes};
    std::array<std::uint8_t, sizeof(Entry)> header{};
    std::memcpy(header.data(), &entry, sizeof(entry));
    append(header.data(), sizeof(entry));
    for (std::uint32_t i = 0; i < frame.count; ++i) {
        append(frame.pieces[i].data(), static_cast<std::uint32_t>(frame.pieces[i].size()));
    }
}

FramePieces FrameFifo::range(std::uint32_t offset, std::uint32_t bytes) const {
    const std::uint32_t start = (first + offset) % size;
    const std::uint32_t before_wrap = std::min(bytes, size - start);
    FramePieces result;
    result.add(Frame(memory).subspan(start, before_wrap));
    result.add(Frame(memory).first(bytes - before_wrap));
    return result;
}

FrameFifo::Entry FrameFifo::front() const {
    std::array<std::uint8_t, sizeof(Entry)> header{};
    range(0, sizeof(Entry)).copy(0, header.data(), sizeof(Entry));
    Entry entry{};
    std::memcpy(&entry, header.data(), sizeof(entry));
    return entry;
}

FramePieces FrameFifo::front_frame() const {
    return range(sizeof(Entry), front().bytes);
}

void FrameFifo::pop() {
    const std::uint32_t bytes = static_cast<std::uint32_t>(sizeof(Entry)) + front().bytes;
    first = (first + bytes) % size;
    used -= bytes;
    placed = 0;
}

} // namespace previrt::dp83820
