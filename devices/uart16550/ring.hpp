// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <bit>
#include <cstdint>

namespace previrt {

// First in, first out, of a fixed size.
template <typename Element, std::uint32_t size>
struct Ring {
    static_assert(std::has_single_bit(size));

    std::array<Element, size> elements{};
    std::uint32_t first = 0;
    std::uint32_t count = 0;

    [[nodiscard]] constexpr bool empty() const { return count == 0; }
    [[nodiscard]] constexpr bool full() const { return count == size; }
    [[nodiscard]] constexpr std::uint32_t free() const { return size - count; }
    // The element `index` places behind the first.
    constexpr Element& at(std::uint32_t index) { return elements[(first + index) % size]; }
    [[nodiscard]] constexpr const Element& at(std::uint32_t index) const {
        return elements[(first + index) % size];
    }

    // The caller has checked full() or empty().
    constexpr void push(Element element) {
        at(count) = element;
        ++count;
    }
    constexpr Element pop() {
        const Element element = at(0);
        first = (first + 1) % size;
        --count;
        return element;
    }
    constexpr void clear() { count = 0; }
};

} // namespace previrt
