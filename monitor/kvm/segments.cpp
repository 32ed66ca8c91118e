// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/kvm/segments.hpp"

#include <limits>

namespace previrt {

namespace {

kvm_segment flat_segment(std::uint16_t selector, std::uint8_t level, std::uint8_t type) {
    kvm_segment segment{};
    segment.limit = std::numeric_limits<std::uint32_t>::max();
    segment.selector = selector;
    segment.type = type;
    segment.present = 1;
    segment.dpl = level;
    segment.s = 1;
    segment.g = 1;
    return segment;
}

} // namespace

kvm_segment code_segment(std::uint16_t selector, std::uint8_t level) {
    constexpr std::uint8_t type = 0xb;
    kvm_segment segment = flat_segment(selector, level, type);
    segment.l = 1;
    return segment;
}

kvm_segment data_segment(std::uint16_t selector, std::uint8_t level) {
    constexpr std::uint8_t type = 0x3;
    kvm_segment segment = flat_segment(selector, level, type);
    segment.db = 1;
    return segment;
}

} // namespace previrt
