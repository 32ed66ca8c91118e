// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "inplace-vmm/vcpu.hpp"

#include <cstdint>
#include <span>

namespace previrt {

// One read or write of memory by an instruction.
struct MemoryAccess {
    std::uint64_t address;
    std::uint64_t bytes;
    bool reads;
    bool writes;
};

struct MemoryAccesses {
    static constexpr unsigned most = 2;
    MemoryAccess found[most];
    unsigned count;

    [[nodiscard]] std::span<const MemoryAccess> all() const& { return {found, count}; }
    [[nodiscard]] std::span<const MemoryAccess> all() const&& = delete; // it would outlive what it points to
};

// Of an executed instruction of 64-bit code: its bytes, the registers before it, and the RIP behind it. An
// unknown instruction, such as one with EVEX, has no accesses.
MemoryAccesses memory_accesses(std::span<const std::uint8_t> code, const Registers& before,
                               std::uint64_t next);

} // namespace previrt
