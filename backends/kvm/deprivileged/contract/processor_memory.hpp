// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/kvm/deprivileged/contract/layout.hpp"

#include <cstdint>

// The memory of each processor but the boot processor: its own pages, which it sees at processor_start, and
// the page tables that lead there. The monitor fills in the first four tables, for its start.
namespace previrt::kvm {

constexpr unsigned kept_roots = 32; // the copies of roots that a processor has
constexpr unsigned kept_tables = 3; // of each: the root itself, and those of levels 3 and 2 in its last entry

struct ProcessorMemory {
    std::uint64_t own_bytes; // from processor_start to processor_end: whole pages

    // Offsets.
    [[nodiscard]] constexpr std::uint64_t root() const { return own_bytes; }
    [[nodiscard]] constexpr std::uint64_t level3() const { return root() + page_size; }
    [[nodiscard]] constexpr std::uint64_t level2() const { return level3() + page_size; }
    [[nodiscard]] constexpr std::uint64_t level1() const { return level2() + page_size; }
    // With --isolate: levels 1, 2 and 3 of the VMM's part in user mode's roots.
    [[nodiscard]] constexpr std::uint64_t user_tables() const { return level1() + page_size; }
    [[nodiscard]] constexpr std::uint64_t kept(unsigned root) const {
        return user_tables() + (3 * page_size) + (std::uint64_t{root} * kept_tables * page_size);
    }
    [[nodiscard]] constexpr std::uint64_t bytes() const { return kept(kept_roots); }
};

} // namespace previrt::kvm
