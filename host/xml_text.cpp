// SPDX-License-Identifier: BSD-2-Clause
#include "host/xml_text.hpp"

#include <algorithm>

namespace previrt {

std::string escape_xml(std::string_view text) {
    std::string escaped;
    for (const char letter : text) {
        switch (letter) {
        case '&':
            escaped += "&amp;";
            break;
        case '<':
            escaped += "&lt;";
            break;
        case '>':
            escaped += "&gt;";
            break;
        case '"':
            escaped += "&quot;";
            break;
        case '\'':
            escaped += "&apos;";
            break;
        default:
            if (static_cast<unsigned char>(letter) < ' ') {
                escaped += "\xef\xbf\xbd";
            } else {
                escaped += letter;
            }
        }
    }
    return escaped;
}

std::size_t characters_of(std::string_view text) {
    constexpr unsigned kind_of_byte = 0xc0;
    constexpr unsigned continues = 0x80;
    return static_cast<std::size_t>(std::ranges::count_if(
        text, [](char byte) { return (static_cast<unsigned char>(byte) & kind_of_byte) != continues; }));
}

} // namespace previrt
