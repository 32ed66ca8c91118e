// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/local_apic/local_apic.hpp"
#include "frontends/x86/devices/machine.hpp"
#include "inplace-vmm/vcpu.hpp"

#include <cstdint>

// The processor's side of its local APIC (devices/local_apic): two MSRs, and CR8.
namespace previrt {

// Of the processor that executes the VMM.
inline LocalApic& own_local_apic() {
    return pc.local_apics.of(vcpu.number);
}

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
