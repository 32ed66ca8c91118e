// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt {

// The table's words about the processors, which are numbered from 0, the boot processor.
struct MpProcessors {
    std::uint32_t count;
    std::uint32_t signature; // CPUID leaf 1: EAX
    std::uint32_t features;  // EDX
};

// Writes the table of Intel's MultiProcessor Specification 1.4 where firmware has it: processors, buses, the
// I/O APIC, and the interrupts that lead to it. The boot processor begins in the specification's virtual wire
// mode, with the 8259s at its LINT0.
void write_mp_table(const MpProcessors& processors);

} // namespace previrt
