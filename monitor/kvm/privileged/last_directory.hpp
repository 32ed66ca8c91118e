// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/kvm/interface.hpp"

#include <cstdint>
#include <span>

namespace previrt {

// Whether the guest's page tables have a page directory for the last 2 MiB that is empty there, and a level-3
// table whose first `map_tables` GiB are empty, as Linux's have. The VMM can then enter.
bool last_directory_has_room(std::span<const std::uint8_t> ram, const kvm_sregs& state, unsigned map_tables);

} // namespace previrt
