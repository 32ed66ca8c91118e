// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace previrt {

// From now on the calling thread opens files only for reading, and only beneath this directory (empty: none),
// and can gain no privileges. Needs Landlock (Linux 5.13). False: this failed, and errno says why.
[[nodiscard]] bool allow_reading_beneath(const std::string& directory);

} // namespace previrt
