// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt::backend {

constexpr unsigned most_disks = 8;

struct Disk {
    std::uint64_t bytes;       // a multiple of block_bytes
    std::uint32_t block_bytes; // 512 or 4096
    bool is_read_only;
    bool keeps_writes; // a write may be lost with this machine's power until a flush; false: never
    bool discards;     // a discarded range returns its space
};

} // namespace previrt::backend
