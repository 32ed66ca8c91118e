// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>

namespace previrt {

// Ethernet's, without its check sequence.
constexpr std::size_t frame_header = 14;     // two addresses and a type
constexpr std::size_t longest_frame = 16384; // that an end takes or gives: more than a jumbo frame

} // namespace previrt
