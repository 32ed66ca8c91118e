// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/physical_memory.hpp"

#include "inplace-vmm/backend.hpp"

namespace previrt {

std::uint8_t* physical_memory(std::uint64_t address, std::uint64_t bytes) {
    const std::uint64_t size = backend::guest_ram_bytes();
    return address < size && bytes <= size - address ? backend::guest_ram() + address : nullptr;
}

} // namespace previrt
