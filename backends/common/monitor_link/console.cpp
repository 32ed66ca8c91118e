// SPDX-License-Identifier: BSD-2-Clause
// Two rings of bytes, with the monitor at their other ends.
#include "inplace-vmm/backend/console.hpp"
#include "backends/common/contract/doorbells.hpp"
#include "backends/common/monitor_link/doorbells.hpp"
#include "inplace-vmm/instruction_counts.hpp"

namespace previrt::backend {

using namespace monitored;

void write_console(std::string_view text) {
    ConsoleRing& ring = output_ring();
    std::uint32_t produced = ring.produced;
    for (const char character : text) {
        // Full: the monitor has to read first.
        while (produced - __atomic_load_n(&ring.consumed, __ATOMIC_ACQUIRE) >= sizeof(ring.bytes)) {
            ring_for_room();
        }
        ring.bytes[produced % sizeof(ring.bytes)] = character;
        __atomic_store_n(&ring.produced, ++produced, __ATOMIC_RELEASE);
    }
    // Between the counter's store and the flag's load: the reader does these in reverse order.
    __atomic_thread_fence(__ATOMIC_SEQ_CST);
    if (__atomic_load_n(&ring.reader_waits, __ATOMIC_RELAXED) != 0) {
        __atomic_store_n(&ring.reader_waits, 0, __ATOMIC_RELAXED); // one doorbell is enough
        count_crossing(doorbell_of_console);
        ring_for_reader();
    }
}

std::optional<std::uint8_t> read_console() {
    ConsoleRing& ring = input_ring();
    const std::uint32_t consumed = ring.consumed;
    const std::uint32_t produced = __atomic_load_n(&ring.produced, __ATOMIC_ACQUIRE);
    if (consumed == produced) {
        return {};
    }
    const auto character = static_cast<std::uint8_t>(ring.bytes[consumed % sizeof(ring.bytes)]);
    __atomic_store_n(&ring.consumed, consumed + 1, __ATOMIC_RELEASE);
    if (produced - consumed >= sizeof(ring.bytes)) {
        ring_for_room();
    }
    return character;
}

namespace {

[[noreturn]] void end() {
    for (;;) {
        ring_for_end();
    }
}

} // namespace

void power_off() {
    end();
}

void reboot() {
    end();
}

void crash() {
    end();
}

} // namespace previrt::backend
