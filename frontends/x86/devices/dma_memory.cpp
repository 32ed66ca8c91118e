// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/devices/dma_memory.hpp"

#include "frontends/x86/paging/physical_memory.hpp"
#include "frontends/x86/paging/written_memory.hpp"

namespace previrt {

namespace {

std::uint8_t* reach(void* /*context*/, std::uint64_t address, std::uint64_t bytes,
                    GuestMemory::Access access) {
    std::uint8_t* const memory = physical_memory(address, bytes);
    if (memory != nullptr && access == GuestMemory::Access::write) {
        for (std::uint64_t page = address & ~(page_bytes - 1); page < address + bytes; page += page_bytes) {
            before_guest_write(page);
        }
    }
    return memory;
}

} // namespace

constinit const GuestMemory dma_memory{.reach = reach, .context = nullptr};

} // namespace previrt
