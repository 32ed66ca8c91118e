// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "previrt/site_kinds.hpp"

#include <cstdint>
#include <span>

namespace previrt {

// Whether all these bytes are one instruction of this encoding, with or without a rep prefix.
bool encoding_matches(const Encoding& encoding, bool repeats, std::span<const std::uint8_t> instruction);

bool has_lock_prefix(std::span<const std::uint8_t> instruction);

} // namespace previrt
