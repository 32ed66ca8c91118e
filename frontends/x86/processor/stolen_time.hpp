// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "inplace-vmm/backend/processor_state.hpp"

#include <cstdint>
#include <optional>

// The time in which a processor of the guest had work and the host executed something else: "steal" of Linux.
// The guest learns of it by the interface of KVM, which Linux knows (Documentation/virt/kvm/x86: cpuid.rst,
// msr.rst); its other parts are not offered.
namespace previrt {

constexpr std::uint32_t msr_stolen_time = 0x4b564d03;

// The leaves of CPUID that name this interface; nullopt: another leaf.
std::optional<backend::CpuidLeaf> interface_leaf(std::uint32_t leaf);

// The register: the address of an area in the guest's memory, and bit 0, which enables it.
std::optional<std::uint64_t> read_stolen_time_area();
bool write_stolen_time_area(std::uint64_t value);

// Updates the area, at most once in a millisecond.
void show_stolen_time();

} // namespace previrt
