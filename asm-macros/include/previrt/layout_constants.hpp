// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt {

enum class LayoutConstant : std::uint8_t;

// An address that a kernel's code holds as a number, and that a VMM may have to change.
struct LayoutConstantInfo {
    LayoutConstant constant;
    const char* name;
    std::uint64_t place; // in the kernel as it is linked
    // A number at most `below` less or `above` more counts as this constant; `never` does not.
    std::uint64_t below;
    std::uint64_t above;
    std::uint64_t never;
    bool is_mask; // the same number is also used as a mask: without a record it may be either

    [[nodiscard]] constexpr bool covers(std::uint64_t number) const {
        return number - (place - below) <= below + above && number != never;
    }
};

#include "previrt/layout_constants.inc"

constexpr const LayoutConstantInfo* find_layout_constant(std::uint8_t tag) {
    for (const LayoutConstantInfo& info : layout_constants) {
        if (static_cast<std::uint8_t>(info.constant) == tag) {
            return &info;
        }
    }
    return nullptr;
}

} // namespace previrt
