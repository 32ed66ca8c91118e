// SPDX-License-Identifier: BSD-2-Clause
// Built for both the VMM and the monitor.
#pragma once

#include <cstdint>
#include <cstring>
#include <optional>
#include <span>

namespace previrt::monitored {

// A pipe of records in shared memory, with one writer and one reader. Each of them writes one of the
// counters, which only grow (modulo 2^32).
struct RingCounters {
    std::uint32_t produced;
    std::uint32_t writer_waits; // 1: the writer wants the doorbell when there is room; the reader clears it
    std::uint32_t reserved[14]; // a cache line for each
    std::uint32_t consumed;
    std::uint32_t reader_waits; // 1: the reader wants the doorbell for new records; the writer clears it
    std::uint32_t reserved2[14];
};
static_assert(sizeof(RingCounters) == 128);

// Each record lies in one piece behind its header, with the header's alignment.
struct RecordHeader {
    std::uint32_t bytes;
    std::uint32_t attributes[3];
};
static_assert(sizeof(RecordHeader) == 16);

struct Record {
    std::span<std::uint8_t> bytes; // in the ring
    RecordHeader header;
};

// The part that both ends of a ring share. A `Ring` has counters, then `bytes`, a power of two of them, and
// the constant `longest`, of a record.
template <typename Ring>
class RingEnd {
protected:
    static constexpr std::uint32_t room = sizeof(Ring::bytes);
    static constexpr std::uint32_t header_bytes = sizeof(RecordHeader);
    // Skip the rest of the ring; the next record is at its start.
    static constexpr std::uint32_t skip = ~std::uint32_t{0};
    static_assert((room & (room - 1)) == 0);
    static_assert(Ring::longest <=
                  room / 2 - header_bytes); // an empty ring has room for it, wherever it begins

    static std::uint32_t size_in_ring(std::uint32_t bytes) {
        return header_bytes + ((bytes + header_bytes - 1) & ~(header_bytes - 1));
    }
    static std::uint32_t up_to_end(std::uint32_t counter) { return room - (counter % room); }
    static bool is_waiting(const std::uint32_t& flag) {
        // Between the counter's store and the flag's load: the waiting side does these in reverse order.
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
        return __atomic_load_n(&flag, __ATOMIC_RELAXED) != 0;
    }
    static bool take_call(std::uint32_t& flag) {
        if (!is_waiting(flag)) {
            return false;
        }
        __atomic_store_n(&flag, 0, __ATOMIC_RELAXED);
        return true;
    }
    static void ask_for_call(std::uint32_t& flag) {
        __atomic_store_n(&flag, 1, __ATOMIC_RELAXED);
        __atomic_thread_fence(__ATOMIC_SEQ_CST);
    }
    // Of a header; a `skip` has nothing else.
    static std::uint32_t* length_at(Ring& ring, std::uint32_t counter) {
        return reinterpret_cast<std::uint32_t*>(&ring.bytes[counter % room]);
    }
};

// The ends of the ring. The peer can write all of the ring at any time. Therefore an end keeps its own
// counter and never reads it back; it reads the peer's counter once, and believes it only within the ring's
// size.

template <typename Ring>
class RecordWriter : RingEnd<Ring> {
    using End = RingEnd<Ring>;

public:
    explicit RecordWriter(Ring& ring) : ring_(ring) {}

    // Room for the next record: at least `least` bytes, and as many more as there are in one piece. Empty:
    // there is no room now.
    std::span<std::uint8_t> reserve(std::uint32_t least) {
        const std::uint32_t used = produced_ - __atomic_load_n(&ring_.counters.consumed, __ATOMIC_ACQUIRE);
        if (least > Ring::longest || used > End::room) {
            return {};
        }
        const std::uint32_t needed = End::size_in_ring(least);
        const std::uint32_t skipped = needed > End::up_to_end(produced_) ? End::up_to_end(produced_) : 0;
        if (skipped + needed > End::room - used) {
            return {};
        }
        start_ = produced_ + skipped;
        const std::uint32_t free = End::room - used - skipped;
        const std::uint32_t in_one_piece = End::up_to_end(start_);
        return {&ring_.bytes[(start_ % End::room) + End::header_bytes],
                (free < in_one_piece ? free : in_one_piece) - End::header_bytes};
    }
    // The record has this size: not 0, and not more than was reserved.
    void commit(const RecordHeader& header) {
        if (start_ != produced_) {
            __atomic_store_n(End::length_at(ring_, produced_), End::skip, __ATOMIC_RELAXED);
        }
        std::memcpy(&ring_.bytes[start_ % End::room], &header, sizeof(header));
        produced_ = start_ + End::size_in_ring(header.bytes);
        __atomic_store_n(&ring_.counters.produced, produced_, __ATOMIC_RELEASE);
    }
    // Called once after some records: whether the reader waits for the doorbell.
    bool must_call() { return End::take_call(ring_.counters.reader_waits); }
    // The same, and must_call() is called later.
    [[nodiscard]] bool reader_waits() const { return End::is_waiting(ring_.counters.reader_waits); }
    // Announces that the writer waits for that much room. False: there is room already.
    bool wait(std::uint32_t least) {
        End::ask_for_call(ring_.counters.writer_waits);
        return reserve(least).empty();
    }

private:
    Ring& ring_;
    std::uint32_t produced_ = 0;
    std::uint32_t start_ = 0; // of the reserved bytes
};

template <typename Ring>
class RecordReader : RingEnd<Ring> {
    using End = RingEnd<Ring>;

public:
    explicit RecordReader(Ring& ring) : ring_(ring) {}

    // The first record. It stays until release(); the writer may change its bytes meanwhile. nullopt: there
    // is none. An invalid record is dropped, together with all records behind it.
    std::optional<Record> next() {
        const std::uint32_t produced = __atomic_load_n(&ring_.counters.produced, __ATOMIC_ACQUIRE);
        std::uint32_t start = consumed_;
        std::uint32_t left = produced - start;
        if (left == 0) {
            return {};
        }
        if (left <= End::room && left % End::header_bytes == 0) {
            std::uint32_t bytes = __atomic_load_n(End::length_at(ring_, start), __ATOMIC_RELAXED);
            if (bytes == End::skip && left > End::up_to_end(start)) {
                left -= End::up_to_end(start);
                start += End::up_to_end(start);
                bytes = __atomic_load_n(End::length_at(ring_, start), __ATOMIC_RELAXED);
            }
            if (bytes != 0 && bytes <= Ring::longest && End::size_in_ring(bytes) <= left &&
                End::size_in_ring(bytes) <= End::up_to_end(start)) {
                end_ = start + End::size_in_ring(bytes);
                return Record{.bytes = {&ring_.bytes[(start % End::room) + End::header_bytes], bytes},
                              .header = read_header(start, bytes)};
            }
        }
        end_ = produced & ~(End::header_bytes - 1);
        release();
        return {};
    }
    void release() {
        consumed_ = end_;
        __atomic_store_n(&ring_.counters.consumed, consumed_, __ATOMIC_RELEASE);
    }
    // Called once after some records: whether the writer waits for the doorbell.
    bool must_call() { return End::take_call(ring_.counters.writer_waits); }
    // The same, and must_call() is called later.
    [[nodiscard]] bool writer_waits() const { return End::is_waiting(ring_.counters.writer_waits); }
    // Announces that the reader waits for a record. False: one has come already.
    bool wait() {
        End::ask_for_call(ring_.counters.reader_waits);
        return __atomic_load_n(&ring_.counters.produced, __ATOMIC_RELAXED) == consumed_;
    }

private:
    [[nodiscard]] RecordHeader read_header(std::uint32_t start, std::uint32_t bytes) const {
        RecordHeader header;
        std::memcpy(&header, &ring_.bytes[start % End::room], sizeof(header));
        asm volatile("" : : : "memory"); // it must not be read again
        header.bytes = bytes;            // the one that was checked
        return header;
    }

    Ring& ring_;
    std::uint32_t consumed_ = 0;
    std::uint32_t end_ = 0; // of the first record
};

} // namespace previrt::monitored
