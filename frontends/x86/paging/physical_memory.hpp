// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/local_apic/local_apic.hpp"
#include "frontends/x86/paging/page_entry.hpp"

#include <cstdint>

namespace previrt {

// The local APIC's page, which hides RAM.
constexpr std::uint64_t local_apic_frame = LocalApic::place >> page_shift;

// Guest-physical memory; nullptr unless all of it is RAM.
std::uint8_t* physical_memory(std::uint64_t address, std::uint64_t bytes);

} // namespace previrt
