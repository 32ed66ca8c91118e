// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <span>

namespace previrt::process {

// An instruction of a seccomp filter, as Linux has it.
struct FilterInstruction {
    std::uint16_t code;
    std::uint8_t if_true;
    std::uint8_t if_false;
    std::uint32_t value;
};

// What a user process may ask for: at two places of its stub the VMM, for what the VMM itself may do too. All
// else comes to the stub as a signal: it is the program's. Gives the part of the room that it took.
std::span<const FilterInstruction> make_user_filter(std::span<FilterInstruction> room);

} // namespace previrt::process
