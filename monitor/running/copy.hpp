// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace previrt {

// Copies a file or a directory into a running guest, or out of one: one of the two is NAME:PATH. As `cp -a`
// does, it copies into `to` if that is a directory, and else makes `to`. Gives an exit status. Throws
// InputError.
int copy_of_guest(const std::string& from, const std::string& to);

} // namespace previrt
