// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

// Sites of user mode's `syscall` that become jumps to a stub: the part that KVM and processes share (their
// user_calls.hpp and calls.hpp).
namespace previrt {

// The address of a slot decides which instructions its jump may cover (DisplacedInstructions::can_use_slot).
// In a page of slots that begins at ...fe000, with f for a byte that faults, every other number can cover
// all.
constexpr unsigned slot_index(unsigned number) {
    constexpr unsigned rotated = 0xff; // bit 7 of an index is bit 10 of the address: e4 to e7, and ec to ef
    return (number & ~rotated) | ((number & 1U) << 7U) | ((number & rotated) >> 1U);
}

// A program that jumps to a covered instruction faults each time. After so many faults the site becomes a
// `syscall` again.
constexpr unsigned most_jumps_behind = 256;

// Provided by each back-end.
// The guest's RIP while the processor is in a stub.
std::uint64_t address_seen(std::uint64_t address);
// The processor's RIP for this RIP of the guest.
std::uint64_t address_executed(std::uint64_t address);
// Whether the `syscall` there has become a jump.
bool is_user_call(std::uint64_t address);

// The guest single-steps at a stub. The processor would never leave it, because the guest's next instruction
// stays the same. This executes the instruction.
void step_through_user_call(bool (*is_user_call)(std::uint64_t address));

} // namespace previrt
