// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <span>

namespace previrt {

// Loads the packed kernel, rewritten, and sets the Vcpu to its first instruction. A bad package is refused
// with a message.
void load_guest(std::span<const std::uint8_t> package);

// Code that runs at its physical address reaches the VMM that much lower: is this fault's address there, and
// was the VMM mapped to it?
bool alias_is_wanted(std::uint64_t address);

} // namespace previrt
