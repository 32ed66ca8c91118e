// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

// With several processors KVM has the local APICs, the I/O APIC and the 8259s, and the VMM has the other
// devices. Any processor may call the VMM. One at a time executes it, because all of them see the same memory
// there: the guest's page tables are the same for all.
namespace previrt::kvm_privileged {

// Called once, when the guest is in its memory.
void start_processors();

// They see the same value until the guest ends.
bool has_several_processors();

// Interrupts are off from the one to the other. With one processor neither does anything. entry.S has the
// same for sites.
void take_vmm();
void give_vmm();

// KVM answers an access there by a processor itself.
bool is_port_of_kvm(std::uint16_t port);
bool is_memory_of_kvm(std::uint64_t physical);
std::uint32_t read_port_of_kvm(std::uint16_t port, unsigned width);
void write_port_of_kvm(std::uint16_t port, unsigned width, std::uint32_t value);

} // namespace previrt::kvm_privileged
