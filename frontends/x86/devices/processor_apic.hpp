// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

// The processor's side of its local APIC (devices/local_apic): two MSRs, and CR8.
namespace previrt {

std::uint64_t read_apic_base();
bool write_apic_base(std::uint64_t value); // false: #GP
bool has_deadline_timer();                 // and IA32_TSC_DEADLINE
std::uint64_t read_deadline();
void write_deadline(std::uint64_t time_stamp);

// CR8 is bits 7 to 4 of the APIC's task priority.
void write_task_priority(std::uint64_t cr8);
// The APIC's registers have been written.
void follow_task_priority();

} // namespace previrt
