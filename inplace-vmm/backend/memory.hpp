// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

namespace previrt {
struct KnownSite;
}

namespace previrt::backend {

// The guest's RAM, as the VMM sees it: guest-physical address 0 is at the start.
std::uint8_t* guest_ram();
std::uint64_t guest_ram_bytes();
// The VMM is about to write to this page of RAM, where guest_ram() has it.
void prepare_write(std::uint64_t guest_frame);

// Memory for a list of at least this many sites. The list grows by moving, and the back-end does not get its
// earlier memory back. Empty: the back-end has not that much.
std::span<KnownSite> memory_for_sites(std::size_t least);

} // namespace previrt::backend
