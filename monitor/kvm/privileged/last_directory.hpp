// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/kvm/interface.hpp"

#include <cstdint>
#include <span>

namespace previrt {

// Do the guest's page tables have a page directory for the last 2 MiB, with nothing there, and nothing in the
// first `map_tables` GiB of the last 512? As Linux's: the VMM can then be there.
bool last_directory_has_room(std::span<const std::uint8_t> ram, const kvm_sregs& state, unsigned map_tables);

} // namespace previrt
