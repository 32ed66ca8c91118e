// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "previrt/site_kinds.hpp"

#include <cstdint>
#include <span>

namespace previrt {

// Whether these bytes, all of them, are an instruction so encoded, with a rep prefix or without.
bool encoding_matches(const Encoding& encoding, bool repeats, std::span<const std::uint8_t> instruction);

bool has_lock_prefix(std::span<const std::uint8_t> instruction);

} // namespace previrt
