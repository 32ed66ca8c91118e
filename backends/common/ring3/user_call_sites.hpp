// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <span>

// Sites of user mode's `syscall` that become jumps to a stub: the part that KVM and processes share (their
// user_calls.hpp and calls.hpp).
namespace previrt {

constexpr std::uint64_t system_call_bytes = 2;

// Little endian. Returns the end.
std::uint8_t* put(std::uint8_t* to, std::uint64_t value, unsigned bytes);

// The instruction behind the `syscall` at this offset of a page, if it compares RAX or EAX with a number;
// else empty.
std::span<const std::uint8_t> comparison_at(std::span<const std::uint8_t> page, unsigned offset);

// Writes a jump to the slot's target over both. Slots are in the first 2 GiB.
void write_user_call_jump(std::uint8_t* to, const std::uint64_t* slot);

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
