// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace previrt {

// Connects standard input and output to the guest's console, until the guest ends or Ctrl-] is typed. Returns
// 0, or 1 if a signal has ended it or output is lost. Throws InputError.
int show_console(const std::string& name);

} // namespace previrt
