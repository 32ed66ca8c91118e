// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "inplace-vmm/processor.hpp"

#include <cstddef>
#include <cstdint>

namespace previrt {

// Why the VMM had work for an instruction of the guest's.
enum class Cause : std::uint8_t {
    none,
    site_call,     // a recorded site that called the VMM; its kind
    trap,          // a sensitive instruction that trapped; its kind
    hidden_fault,  // a page fault that the guest does not see: the shadow tables lacked the page
    host_fault,    // likewise: the host process lacked a page that the shadow tables have
    true_fault,    // a page fault of the guest's own
    table_store,   // a store to a live page table, without annotation
    device_access, // to a device register, by a fault; mmio_read or mmio_write
    port_access,   // by a site or a trap; its kind
    system_call,   // of a program, by the VMM's general way
    exception,     // another exception, which the guest gets as a rule; its vector
    event,         // an interrupt, a timer or a doorbell came at this instruction
    crossing,      // a call of the host while the VMM worked for this instruction; the call's number
    count,
};
constexpr std::size_t cause_count = static_cast<std::size_t>(Cause::count);

constexpr const char* cause_names[cause_count] = {
    "none",          "site_call",   "trap",        "hidden_fault", "host_fault", "true_fault", "table_store",
    "device_access", "port_access", "system_call", "exception",    "event",      "crossing",
};
constexpr unsigned cause_bits = 4;
static_assert(cause_count <= 1U << cause_bits);

// An instruction's address, the cause, and the kind of the site or the number of the call. The processor
// executes only canonical addresses, so 48 bits stand for the address.
struct InstructionKey {
    std::uint64_t bits; // 0: none

    static constexpr unsigned address_shift = 16;
    static constexpr unsigned cause_shift = 12;
    static constexpr std::uint64_t kind_mask = 0xfff;

    static constexpr InstructionKey of(std::uint64_t address, Cause cause, unsigned kind) {
        return {(address << address_shift) |
                (std::uint64_t{static_cast<std::uint8_t>(cause)} << cause_shift) | (kind & kind_mask)};
    }
    // Of the same address.
    [[nodiscard]] constexpr InstructionKey with(Cause cause, unsigned kind) const {
        constexpr std::uint64_t rest = (std::uint64_t{1} << address_shift) - 1;
        return {(bits & ~rest) | of(0, cause, kind).bits};
    }
    [[nodiscard]] constexpr std::uint64_t address() const {
        return static_cast<std::uint64_t>(static_cast<std::int64_t>(bits) >> address_shift);
    }
    [[nodiscard]] constexpr unsigned cause() const {
        return static_cast<unsigned>(bits >> cause_shift) & 0xfU;
    }
    [[nodiscard]] constexpr unsigned kind() const { return static_cast<unsigned>(bits & kind_mask); }
};

struct InstructionRow {
    InstructionKey key;
    std::uint64_t count;
    std::uint64_t cycles; // of the VMM, if they are wanted
};

// Counts by instruction. An open-addressing table: a row is in one of the `most_probes` places behind that of
// its hash. A row stays in its place for ever. If these places are taken, the row of the cause counts.
struct InstructionCounts {
    static constexpr std::size_t row_count = 4096;
    static constexpr unsigned most_probes = 16;
    static_assert((row_count & (row_count - 1)) == 0);

    InstructionRow rows[row_count];
    InstructionRow programs[cause_count];  // user mode: one row a cause
    InstructionRow elsewhere[cause_count]; // for which the table has no place
};

extern "C" InstructionCounts instruction_counts;
extern bool cycles_are_wanted; // a profile was asked for

// In place of an address: user mode, whose addresses would fill the table. No kernel has code there.
constexpr std::uint64_t address_of_programs = 0;

// The processor's present entry into the VMM.
struct InstructionEntry {
    InstructionRow* row; // that counts it; nullptr: it is not counted yet, and `address` is the instruction's
    std::uint64_t
        address;         // of the guest's instruction: a link address of its kernel's, or address_of_programs
    std::uint64_t began; // time-stamp counter, if cycles are wanted
};
extern InstructionEntry instruction_entry;

// The row for an instruction, by its link address or address_of_programs.
InstructionRow& row_of_instruction(std::uint64_t address, Cause cause, unsigned kind = 0);

inline void begin_cycles() {
    if (cycles_are_wanted) [[unlikely]] {
        instruction_entry.began = processor::read_time_stamp();
    }
}
void add_cycles();
inline void end_cycles() {
    if (cycles_are_wanted) [[unlikely]] {
        add_cycles();
    }
}

// Each entry begins with one of these two, is counted by one of the next two, and ends with end_cycles().
inline void begin_entry(std::uint64_t address) {
    instruction_entry.row = nullptr;
    instruction_entry.address = address;
    begin_cycles();
}
inline void begin_entry(InstructionRow& row) {
    instruction_entry.row = &row;
    begin_cycles();
}
inline void count_entry(InstructionRow& row) {
    ++row.count;
    instruction_entry.row = &row;
}
inline void count_entry(Cause cause, unsigned kind = 0) {
    count_entry(row_of_instruction(instruction_entry.address, cause, kind));
}
inline bool entry_is_counted() {
    return instruction_entry.row != nullptr;
}

// A call of the host's by the VMM, at the instruction of the present entry. The caller has the VMM to itself.
void count_crossing(unsigned number);
// An instruction whose address nobody knows.
void count_elsewhere(Cause cause);

class Print;
// An array of JSON: the rows with the highest counts. Behind it follow the numbers of the rest.
void print_instruction_counts(Print& print);

} // namespace previrt
