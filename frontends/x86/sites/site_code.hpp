// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <span>

namespace previrt {

// Writes the code of a site into the guest's memory, even if the guest's page tables make it read-only: a
// module's text may be so already. False: it is not mapped to RAM, and nothing is written.
bool write_site_code(std::uint64_t address, std::span<const std::uint8_t> code);

} // namespace previrt
