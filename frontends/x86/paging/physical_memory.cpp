// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/paging/physical_memory.hpp"

#include "inplace-vmm/backend/memory.hpp"

namespace previrt {

std::uint8_t* physical_memory(std::uint64_t address, std::uint64_t bytes) {
    const std::uint64_t size = backend::guest_ram_bytes();
    if (address >= size || bytes > size - address) {
        return nullptr;
    }
    const bool is_apart = address + bytes <= hidden_memory || address >= hidden_memory_end;
    return is_apart ? backend::guest_ram() + address : nullptr;
}

} // namespace previrt
