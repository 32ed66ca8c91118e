// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>

namespace previrt {
enum class SiteKind : std::uint8_t;
}

namespace previrt::backend {

// State that the real processor holds for the guest while it runs.

struct CpuidLeaf {
    std::uint32_t eax;
    std::uint32_t ebx;
    std::uint32_t ecx;
    std::uint32_t edx;
};
CpuidLeaf host_cpuid(std::uint32_t leaf, std::uint32_t subleaf);

void write_fs_base(std::uint64_t base);
void write_gs_base(bool user, std::uint64_t base);
void load_segment(unsigned segment, std::uint16_t selector); // es ds fs gs: 0 3 4 5
void load_user_gs(std::uint16_t selector);

// The real GDT and LDT follow the guest's. False: the entry was the same already.
bool write_descriptor(bool local, unsigned index, std::uint64_t descriptor);
unsigned descriptor_count(bool local);                       // how many there can be
unsigned descriptors_written(bool local);                    // past the last that was ever set
void load_local_table(std::uint64_t base, unsigned entries); // 0 entries: none

void set_task_switched(bool set);
// The bits of CR4 that change the processor for the guest: time-stamp disable, FS and GS base instructions,
// XSAVE.
void set_extensions(std::uint64_t cr4);
void write_debug_register(unsigned number, std::uint64_t value);
std::uint64_t read_debug_register(unsigned number);
// Whether the processor compares addresses with the debug registers.
bool compares_debug_registers();

void write_xcr0(std::uint64_t value);
// The XCR0 by which the processor executes XSAVE and its kin: the guest's, where it can be written. The
// processor must have XSAVE.
std::uint64_t read_xcr0();

// XSAVE, XSAVEOPT or XRSTOR, with this mask in EDX:EAX. The guest executes it once it has left the VMM, if
// RIP is still the instruction's. A fault or an event before then finds the guest at the instruction, with
// all registers unchanged.
struct StateInstruction {
    SiteKind kind;
    bool wide;             // has REX.W
    std::uint64_t address; // of the site's instruction
    std::uint64_t next;    // where the guest goes on
    std::uint64_t area;    // the operand
    std::uint64_t mask;
};
void execute_state_instruction(const StateInstruction& instruction);

// Nanoseconds in which the present processor had work and the host executed something else. nullopt: the host
// does not tell.
std::optional<std::uint64_t> stolen_time();

} // namespace previrt::backend
