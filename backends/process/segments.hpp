// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/common/ring3/selectors.hpp"

#include <cstdint>

namespace previrt::process {

constexpr std::uint16_t selector_user_code_32 = 0x23;

// Segment state of a host process, which the next one needs.
struct SegmentState {
    std::uint16_t selectors[6];
    std::uint64_t fs_base;
    std::uint64_t gs_base;
};
SegmentState read_segments();
void write_segments(const SegmentState& state);

} // namespace previrt::process
