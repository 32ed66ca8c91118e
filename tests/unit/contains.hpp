// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace previrt {

inline bool contains(const std::string& text, const std::string& part) {
    return text.find(part) != std::string::npos;
}

} // namespace previrt
