// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

// What every monitor of ours and its VMM share.
namespace previrt::monitored {

// From the start of the VMM's memory.
struct Part {
    std::uint64_t offset;
    std::uint64_t bytes;
};

// A pipe of bytes in shared memory. Each side writes one of the counters, which only grow (modulo 2^32), and
// believes neither.
struct ConsoleRing {
    std::uint32_t produced;
    std::uint32_t reserved[15]; // a cache line for each writer
    std::uint32_t consumed;
    std::uint32_t reader_waits; // 1: it wants to be called to what comes; the writer clears it with the call
    std::uint32_t reserved2[14];
    char bytes[4096]; // a power of two: the counters wrap
};
static_assert(sizeof(ConsoleRing) == 4096 + 128);

} // namespace previrt::monitored
