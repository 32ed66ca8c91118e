// SPDX-License-Identifier: BSD-2-Clause
// Built for both the VMM and the monitor.
#include "backends/common/contract/packet_ring.hpp"

#include <algorithm>
#include <cstring>

namespace previrt::monitored {

namespace {

constexpr std::uint32_t room = sizeof(PacketRing::bytes);
constexpr std::uint32_t header_bytes = sizeof(PacketHeader);
constexpr std::uint32_t skip =
    ~std::uint32_t{0}; // skip the rest of the ring; the next packet is at its start

std::uint32_t size_in_ring(std::uint32_t bytes) {
    return header_bytes + ((bytes + header_bytes - 1) & ~(header_bytes - 1));
}

std::uint32_t up_to_end(std::uint32_t counter) {
    return room - (counter % room);
}

// Of a header; a `skip` has nothing else.
std::uint32_t* length_at(PacketRing& ring, std::uint32_t counter) {
    return reinterpret_cast<std::uint32_t*>(&ring.bytes[counter % room]);
}

PacketState read_state(const PacketRing& ring, std::uint32_t counter) {
    PacketHeader header;
    std::memcpy(&header, &ring.bytes[counter % room], sizeof(header));
    asm volatile("" : : : "memory"); // it must not be read again
    return {.left = header.left, .is_verified = header.is_verified != 0};
}

bool take_call(std::uint32_t& flag) {
    // Between the counter's store and the flag's load: the waiting side does these in reverse order.
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (__atomic_load_n(&flag, __ATOMIC_RELAXED) == 0) {
        return false;
    }
    __atomic_store_n(&flag, 0, __ATOMIC_RELAXED);
    return true;
}

void ask_for_call(std::uint32_t& flag) {
    __atomic_store_n(&flag, 1, __ATOMIC_RELAXED);
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
}

} // namespace

std::span<std::uint8_t> PacketWriter::reserve(std::uint32_t least) {
    const std::uint32_t used = produced_ - __atomic_load_n(&ring_.consumed, __ATOMIC_ACQUIRE);
    if (least > longest_packet || used > room) {
        return {};
    }
    const std::uint32_t needed = size_in_ring(least);
    const std::uint32_t skipped = needed > up_to_end(produced_) ? up_to_end(produced_) : 0;
    if (skipped + needed > room - used) {
        return {};
    }
    start_ = produced_ + skipped;
    const std::uint32_t free = std::min(room - used - skipped, up_to_end(start_)) - header_bytes;
    return {&ring_.bytes[(start_ % room) + header_bytes], std::min(free, most_room)};
}

void PacketWriter::commit(std::uint32_t bytes, const PacketState& state) {
    if (start_ != produced_) {
        __atomic_store_n(length_at(ring_, produced_), skip, __ATOMIC_RELAXED);
    }
    const PacketHeader header{.bytes = bytes, .is_verified = state.is_verified ? 1U : 0U, .left = state.left};
    std::memcpy(&ring_.bytes[start_ % room], &header, sizeof(header));
    produced_ = start_ + size_in_ring(bytes);
    __atomic_store_n(&ring_.produced, produced_, __ATOMIC_RELEASE);
}

bool PacketWriter::must_call() {
    return take_call(ring_.reader_waits);
}

bool PacketWriter::wait(std::uint32_t least) {
    ask_for_call(ring_.writer_waits);
    return reserve(least).empty();
}

std::optional<RingPacket> PacketReader::next() {
    const std::uint32_t produced = __atomic_load_n(&ring_.produced, __ATOMIC_ACQUIRE);
    std::uint32_t start = consumed_;
    std::uint32_t left = produced - start;
    if (left == 0) {
        return {};
    }
    if (left <= room && left % header_bytes == 0) {
        std::uint32_t bytes = __atomic_load_n(length_at(ring_, start), __ATOMIC_RELAXED);
        if (bytes == skip && left > up_to_end(start)) {
            left -= up_to_end(start);
            start += up_to_end(start);
            bytes = __atomic_load_n(length_at(ring_, start), __ATOMIC_RELAXED);
        }
        if (bytes != 0 && bytes <= longest_packet && size_in_ring(bytes) <= left &&
            size_in_ring(bytes) <= up_to_end(start)) {
            end_ = start + size_in_ring(bytes);
            return RingPacket{.bytes = {&ring_.bytes[(start % room) + header_bytes], bytes},
                              .state = read_state(ring_, start)};
        }
    }
    end_ = produced & ~(header_bytes - 1);
    release();
    return {};
}

void PacketReader::release() {
    consumed_ = end_;
    __atomic_store_n(&ring_.consumed, consumed_, __ATOMIC_RELEASE);
}

bool PacketReader::must_call() {
    return take_call(ring_.writer_waits);
}

bool PacketReader::wait() {
    ask_for_call(ring_.reader_waits);
    return __atomic_load_n(&ring_.produced, __ATOMIC_RELAXED) == consumed_;
}

} // namespace previrt::monitored
