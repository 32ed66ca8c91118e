// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace previrt::xen {

// Builds text of at most `room` characters. Text that does not fit makes it void and empty.
template <std::size_t room>
class FixedText {
public:
    FixedText& operator<<(std::string_view text) {
        if (is_void_ || text.size() > room - length_) {
            is_void_ = true;
            length_ = 0;
            return *this;
        }
        for (const char character : text) {
            text_[length_++] = character;
        }
        return *this;
    }

    FixedText& operator<<(std::uint32_t number) {
        char digits[10];
        std::size_t first = sizeof(digits);
        do {
            digits[--first] = static_cast<char>('0' + (number % 10));
            number /= 10;
        } while (number != 0);
        return *this << std::string_view(digits + first, sizeof(digits) - first);
    }

    [[nodiscard]] std::string_view view() const { return {text_, length_}; }

private:
    char text_[room] = {};
    std::size_t length_ = 0;
    bool is_void_ = false;
};

} // namespace previrt::xen
