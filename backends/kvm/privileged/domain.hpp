// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/kvm/deprivileged/contract/handover.hpp"
#include "backends/kvm/privileged/contract/layout.hpp"
#include "backends/kvm/privileged/contract/mailbox.hpp"

#include <cstdint>
#include <span>

namespace previrt::kvm_privileged {

extern "C" {
extern const kvm::Handover handover;
extern Mailbox mailbox;
}

// In the map: guest-physical addresses.
inline std::uint8_t* pointer_to(std::uint64_t physical) {
    return reinterpret_cast<std::uint8_t*>(map_address + physical);
}
std::uint8_t* part_of_vmm(const kvm::Part& part);
std::span<const std::uint8_t> package();

void request_of_monitor(PortRequest request);

void start_events();

// Puts the VMM into the guest's page tables, in the last 2 MiB, which Linux leaves free.
void enter_address_space(std::uint64_t cr3);
// The VMM has the devices from now on.
void take_devices();

} // namespace previrt::kvm_privileged
