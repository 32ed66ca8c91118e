// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <span>

// Sites of user mode's `syscall` that become jumps to a stub: what is the same wherever the copy of their
// page and the stub are (user_calls.hpp of KVM and of processes).
namespace previrt {

constexpr std::uint64_t system_call_bytes = 2;

// Little endian; gives where it ends.
std::uint8_t* put(std::uint8_t* to, std::uint64_t value, unsigned bytes);

// The comparison of RAX or EAX with a number behind the `syscall` at this offset of a page; empty: this is no
// such place.
std::span<const std::uint8_t> comparison_at(std::span<const std::uint8_t> page, unsigned offset);

// Over both, a jump to what the slot holds. Slots are in the first 2 GiB.
void write_user_call_jump(std::uint8_t* to, const std::uint64_t* slot);

// A step of the guest's through a stub would not get on: its next instruction is still the same. This does
// it.
void step_through_user_call(bool (*is_user_call)(std::uint64_t address));

} // namespace previrt
