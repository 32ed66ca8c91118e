// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/common/ring3/displaced_instructions.hpp"

#include <cstdint>
#include <span>

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

// Of the slot of this number, if the slots begin at `slots`.
constexpr std::uint64_t slot_address(std::uint64_t slots, unsigned number) {
    return slots + (slot_index(number) * sizeof(std::uint64_t));
}

// A program that jumps to a covered instruction faults each time. After so many faults the site becomes a
// `syscall` again.
constexpr unsigned most_jumps_behind = 256;

struct UserCallSite {
    // Of an address: none.
    static constexpr std::uint64_t nowhere = ~std::uint64_t{0};

    std::uint16_t copy; // the number of the copied page with the jump
    std::uint16_t offset;
    std::uint16_t jumps_behind;
    bool is_given_up; // it is a `syscall` again, and stays one
    DisplacedInstructions displaced;

    [[nodiscard]] bool is_taken() const { return displaced.count != 0; }
    // Whether the jump covers an instruction that begins at `address`. `behind` is the address behind the
    // system call, or nowhere.
    [[nodiscard]] bool covers(std::uint64_t address, std::uint64_t behind) const {
        const std::uint64_t distance = address - behind;
        return distance < user_call_bytes && behind != nowhere && displaced.begins_at(distance);
    }
    // `page` is the copy.
    void give_up(std::uint8_t* page, const std::uint8_t* original);
};

bool has_site(std::span<const UserCallSite> sites, unsigned copy, unsigned offset);
// A number that is not taken, and whose slot suits these instructions. sites.size(): there is none.
unsigned free_number(std::span<const UserCallSite> sites, const DisplacedInstructions& displaced,
                     std::uint64_t slots);

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
