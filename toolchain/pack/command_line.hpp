// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace previrt {

// A guest's command line, the same on every back-end. The user's own words come later and win.
inline std::string guest_command_line(const std::string& append) {
    return "console=ttyS0 panic=-1 " + append;
}

} // namespace previrt
