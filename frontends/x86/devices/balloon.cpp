// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/devices/balloon.hpp"

#include "frontends/x86/devices/dma_memory.hpp"
#include "frontends/x86/devices/machine.hpp"
#include "frontends/x86/paging/page_entry.hpp"
#include "inplace-vmm/backend/released_memory.hpp"
#include "inplace-vmm/counters.hpp"

namespace previrt {

namespace {

void release(void* /*context*/, std::uint64_t address, std::uint64_t bytes) {
    counters.pages_released += bytes >> page_shift;
    backend::release_memory(address >> page_shift, bytes >> page_shift);
}

} // namespace

void insert_balloon() {
    if (backend::can_release_memory()) {
        pc.insert_balloon();
    }
}

void serve_balloon() {
    if (pc.balloon_is_notified()) {
        pc.balloon.serve(dma_memory, {.take = release, .context = nullptr});
    }
    pc.update_balloon_line();
}

} // namespace previrt
