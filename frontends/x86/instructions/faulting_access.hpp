// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <span>

namespace previrt {

// The linear address of the access by which an instruction of 64-bit code raised a page fault: what the
// processor puts into CR2. `code` begins with the instruction, and the registers are the Vcpu's. nullopt: the
// instruction does not tell it for certain. That is so for fetches of instructions, for accesses that cross a
// page or that have several parts, as those of strings and of saved states, for vectors with a mask, and for
// addresses relative to a segment.
std::optional<std::uint64_t> faulting_access(std::span<const std::uint8_t> code, std::uint32_t error_code);

} // namespace previrt
