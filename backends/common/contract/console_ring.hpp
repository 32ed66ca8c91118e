// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

// Shared by all monitors and their VMMs.
namespace previrt::monitored {

// An offset from the start of the VMM's memory, and a size.
struct Part {
    std::uint64_t offset;
    std::uint64_t bytes;
};

// A pipe of bytes in shared memory. Each side writes one of the counters, which only grow (modulo 2^32), and
// trusts neither.
struct ConsoleRing {
    std::uint32_t produced;
    std::uint32_t reserved[15]; // a cache line for each writer
    std::uint32_t consumed;
    std::uint32_t
        reader_waits; // 1: the reader wants the doorbell for new bytes; the writer clears it when it rings
    std::uint32_t reserved2[14];
    char bytes[4096]; // a power of two: the counters wrap
};
static_assert(sizeof(ConsoleRing) == 4096 + 128);

} // namespace previrt::monitored
