// SPDX-License-Identifier: BSD-2-Clause
// What finds.sh expects clang-tidy to find. No part of any program.
#include "faults.hpp"

#include <string>

namespace faults {

bool is_without_text(const std::string& text) {
    return text.size() == 0; // readability-container-size-empty
}

template <typename Number>
Number sign(Number number) {
    if (number < 0) {
        return -1;
    } else { // readability-else-after-return
        return 1;
    }
}

template int sign<int>(int);

} // namespace faults
