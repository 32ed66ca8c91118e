// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <span>

namespace previrt {

// Puts the code of a site in the guest's memory, whatever the guest's page tables say of writing: a module's
// text may be read-only already. False: it is not mapped, or not to RAM, and nothing is written.
bool write_site_code(std::uint64_t address, std::span<const std::uint8_t> code);

} // namespace previrt
