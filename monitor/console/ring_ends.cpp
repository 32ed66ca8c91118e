// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/console/ring_ends.hpp"

#include <algorithm>
#include <atomic>

namespace previrt {

namespace {

constexpr std::uint32_t room = sizeof(monitored::ConsoleRing::bytes);

// The guest's accesses are outside C++'s memory model: atomic accesses read or write each byte once.
std::atomic_ref<char> byte_at(monitored::ConsoleRing& ring, std::uint32_t counter) {
    return std::atomic_ref<char>(ring.bytes[counter % room]);
}

} // namespace

bool RingReader::wait() {
    std::atomic_ref(ring_.reader_waits).store(1, std::memory_order_relaxed);
    std::atomic_thread_fence(std::memory_order_seq_cst);
    return std::atomic_ref(ring_.produced).load(std::memory_order_relaxed) == consumed_;
}

std::string RingReader::read() {
    std::atomic_ref(ring_.reader_waits).store(0, std::memory_order_relaxed);
    const std::uint32_t produced = std::atomic_ref(ring_.produced).load(std::memory_order_acquire);
    const std::uint32_t available = std::min(produced - consumed_, room);
    std::string text;
    for (std::uint32_t i = 0; i < available; ++i) {
        text += byte_at(ring_, consumed_ + i).load(std::memory_order_relaxed);
    }
    consumed_ = produced;
    std::atomic_ref(ring_.consumed).store(consumed_, std::memory_order_release);
    return text;
}

std::size_t RingWriter::write(std::string_view text) {
    const std::uint32_t consumed = std::atomic_ref(ring_.consumed).load(std::memory_order_acquire);
    const std::uint32_t used = std::min(produced_ - consumed, room);
    const auto count = static_cast<std::uint32_t>(std::min<std::size_t>(text.size(), room - used));
    for (std::uint32_t i = 0; i < count; ++i) {
        byte_at(ring_, produced_ + i).store(text[i], std::memory_order_relaxed);
    }
    produced_ += count;
    std::atomic_ref(ring_.produced).store(produced_, std::memory_order_release);
    return count;
}

} // namespace previrt
