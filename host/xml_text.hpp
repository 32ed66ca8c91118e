// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace previrt {

// For XML's text and attributes, of UTF-8. A control character, which XML forbids, becomes U+FFFD.
std::string escape_xml(std::string_view text);

// Of UTF-8.
std::size_t characters_of(std::string_view text);

} // namespace previrt
