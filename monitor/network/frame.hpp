// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>

namespace previrt {

// Ethernet's, without the check sequence.
constexpr std::size_t frame_header = 14;     // two addresses and a type
constexpr std::size_t longest_frame = 16384; // of an end: more than a jumbo frame

} // namespace previrt
