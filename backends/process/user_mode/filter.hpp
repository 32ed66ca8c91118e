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

// The filter of a user process. Two places of its stub may call the VMM, for calls that the VMM itself may
// make too. All other calls come to the stub as signals: they are the program's. Returns the part of the room
// that it used.
std::span<const FilterInstruction> make_user_filter(std::span<FilterInstruction> room);

} // namespace previrt::process
