// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/common/ring3/vmm_lock.hpp"

#include <cstdint>

// The virtual processors. Each has pages of its own, from processor_start to processor_end, to which page
// tables of its own lead (processor_roots.hpp).
namespace previrt::kvm {

extern "C" {
extern std::uint8_t processor_start[];
extern std::uint8_t processor_end[];
}

// Called when the boot processor's pages are ready: the others begin with copies of them.
void start_processors();
// The memory of another than the boot processor (contract/processor_memory.hpp).
std::uint8_t* memory_of(unsigned processor);
std::uint64_t own_bytes();

} // namespace previrt::kvm
