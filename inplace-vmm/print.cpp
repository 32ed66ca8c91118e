// SPDX-License-Identifier: BSD-2-Clause
#include "inplace-vmm/print.hpp"

#include "inplace-vmm/backend/console.hpp"

namespace previrt {

Print& Print::operator<<(std::string_view text) {
    for (const char character : text) {
        if (length_ == sizeof(text_)) {
            flush();
        }
        text_[length_++] = character;
    }
    return *this;
}

Print& Print::operator<<(std::uint64_t number) {
    char digits[20];
    unsigned first = sizeof(digits);
    do {
        digits[--first] = static_cast<char>('0' + (number % 10));
        number /= 10;
    } while (number != 0);
    return *this << std::string_view(&digits[first], sizeof(digits) - first);
}

Print& Print::operator<<(Hex number) {
    char digits[16];
    unsigned first = sizeof(digits);
    std::uint64_t rest = number.value;
    do {
        digits[--first] = "0123456789abcdef"[rest & 15U];
        rest >>= 4U;
    } while (rest != 0 || sizeof(digits) - first < number.digits);
    return *this << std::string_view(&digits[first], sizeof(digits) - first);
}

void Print::flush() {
    backend::write_console({text_, length_});
    length_ = 0;
}

} // namespace previrt
