// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/process/contract/layout.hpp"

#include <cstdint>

// The current host process's mappings of the guest's memory, as the host sees them: ranges of addresses. The
// host limits their number (vm.max_map_count), and refuses also to take a piece out of one if two more would
// be too many.
namespace previrt::process {

// The kernel's part is the same in all processes. The rest, the user's part, belongs to one address space.
constexpr bool is_kernels(std::uint64_t address) {
    return address >= user_end || (address >= modules_address && address < modules_end);
}

enum class Mapped : std::uint8_t { done, failed, refused };

// The rights and the frame of this shadow entry.
Mapped map_range(std::uint64_t address, std::uint64_t bytes, std::uint64_t entry);
std::uint32_t protection_of(std::uint64_t entry);
// 0: it is unmapped. If the host refuses that, the whole user's part is, and if need be the kernel's part.
void change_range(std::uint64_t address, std::uint64_t bytes, std::uint32_t protection);
void empty_users_part();
void empty_kernels_part();

} // namespace previrt::process
