// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/io_apic/io_apic.hpp"
#include "devices/local_apic/local_apic.hpp"
#include "frontends/x86/paging/page_entry.hpp"

#include <cstdint>

namespace previrt {

// The registers of the APICs, and all between, hide RAM.
constexpr std::uint64_t hidden_memory = IoApic::place;
constexpr std::uint64_t hidden_memory_end = LocalApic::place + LocalApic::place_bytes;
constexpr bool is_hidden_frame(std::uint64_t frame) {
    return frame - (hidden_memory >> page_shift) < (hidden_memory_end - hidden_memory) >> page_shift;
}

// Guest-physical memory; nullptr unless all of it is RAM.
std::uint8_t* physical_memory(std::uint64_t address, std::uint64_t bytes);

} // namespace previrt
