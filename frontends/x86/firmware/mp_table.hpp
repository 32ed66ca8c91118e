// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace previrt {

// Writes the table of Intel's MultiProcessor Specification 1.4 where firmware has it: processors, buses, the
// I/O APIC, and the interrupts that lead to it. The boot processor begins in the specification's virtual wire
// mode, with the 8259s at its LINT0.
void write_mp_table();

} // namespace previrt
