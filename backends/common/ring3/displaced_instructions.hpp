// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <span>

// A `syscall` of user mode that has become a jump to a stub: the jump also covers the instructions behind the
// system call, and the stub executes them in their place.
namespace previrt {

constexpr unsigned system_call_bytes = 2;
constexpr unsigned user_call_bytes = 7; // of the jump

// Distances count from behind the system call. They are the same in the stub, up to the last instruction.
struct DisplacedInstructions {
    static constexpr unsigned most = 3;
    static constexpr unsigned most_copied = 15;

    enum class End : std::uint8_t { next_instruction, jump, call, ret };

    unsigned count; // 0: they cannot be displaced
    std::uint8_t starts[most];
    std::uint8_t bytes;        // of all
    std::uint8_t copied_bytes; // of those that the stub executes as they are: not a jump or call at the end
    std::uint8_t copied[most_copied];
    End end;
    std::int32_t target; // the distance at which execution continues

    // The jump covers the start of an instruction there.
    [[nodiscard]] bool begins_at(std::uint64_t distance) const;
    // The distance that the guest sees while the processor is at this one in the stub.
    [[nodiscard]] std::int64_t seen_at(std::uint64_t distance_in_stub) const;
    // The jump ends with the address of its slot. A program may jump to an instruction that the jump covers:
    // there, a byte of the address must fault.
    [[nodiscard]] bool can_use_slot(std::uint64_t slot) const;
};

// Behind the system call at this offset of the page.
DisplacedInstructions displaced_at(std::span<const std::uint8_t> page, unsigned offset);

// Of the 8 bytes in the first or last 2 GiB that say where execution continues, and to what a call returns.
struct StubEnd {
    std::uint64_t target;
    std::uint64_t return_address;
};

// Returns the end.
std::uint8_t* put_displaced(std::uint8_t* to, const DisplacedInstructions& displaced, StubEnd end);
constexpr unsigned most_displaced_bytes = DisplacedInstructions::most_copied + 7;

// Slots are in the first or last 2 GiB.
void put_user_call_jump(std::uint8_t* to, std::uint64_t slot);

} // namespace previrt
