// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "inplace-vmm/backend/processor_state.hpp"

#include <cstdint>

namespace previrt {

// The processor that the guest sees.
backend::CpuidLeaf guest_cpuid(std::uint32_t leaf, std::uint32_t subleaf);

bool is_of_amd(); // the processor, or of Hygon, which is AMD's in all that matters here

std::uint64_t offered_cr4_bits();
// MSR IA32_ARCH_CAPABILITIES of Intel's processors; 0 where CPUID does not offer it.
std::uint64_t offered_architectural_capabilities();
std::uint64_t offered_xcr0_bits();

} // namespace previrt
