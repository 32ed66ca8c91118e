// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <span>

namespace previrt {

// Loads and rewrites the packed kernel, and sets the Vcpu to its first instruction. A bad package is refused
// with a message.
void load_guest(std::span<const std::uint8_t> package);

// Code at its physical address calls the VMM at an alias, lower by the kernel's offset. True: `address` is in
// the alias, and the VMM is now mapped there.
bool alias_is_wanted(std::uint64_t address);

} // namespace previrt
