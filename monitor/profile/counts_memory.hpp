// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/profile/counted_instruction.hpp"

#include <cstdint>
#include <span>
#include <string>

namespace previrt {

// A kernel that runs at other addresses than those for which it is linked.
struct KernelMove {
    std::uint64_t begin = 0; // its first address in the guest
    std::uint64_t bytes = 0;
    std::uint64_t distance = 0; // to its link addresses, modulo 2^64
};

// The table of a VMM that runs, or has run, in memory of this process. The guest may be able to write
// anything there at any time.
class CountsMemory {
public:
    using CallNames = std::span<const char* const>;

    // `table`: sizeof(InstructionCounts) bytes. `calls`: the names of the VMM's calls of the host, by number.
    CountsMemory(std::span<const std::uint8_t> table, CallNames calls, KernelMove move = {});

    [[nodiscard]] CountedInstructions read() const;

private:
    [[nodiscard]] std::string kind_of(unsigned cause, unsigned kind) const;
    [[nodiscard]] std::uint64_t link_address(std::uint64_t address) const;
    void add(CountedInstructions& counts, std::size_t offset, CountedIn in, unsigned cause) const;

    std::span<const std::uint8_t> table_;
    CallNames calls_;
    KernelMove move_;
};

} // namespace previrt
