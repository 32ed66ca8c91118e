// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace previrt {

// From here on the calling thread opens no file but for reading, and beneath this directory (empty: nowhere),
// if Linux has Landlock (5.13). It can gain no privileges. False: it has not, and errno says why.
[[nodiscard]] bool allow_reading_beneath(const std::string& directory);

} // namespace previrt
