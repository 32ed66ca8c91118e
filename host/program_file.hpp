// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"
#include "host/rights.hpp"

#include <string>

namespace previrt {

// A file for a program to read that inherits the descriptor and has only these rights: whoever may not get
// through the file's directories, or not read the file itself, reads it by name_of_inherited. Throws
// InputError.
Descriptor open_for_program(const std::string& path, Rights rights);

// The name by which a program opens what it inherits.
std::string name_of_inherited(const Descriptor& descriptor);

} // namespace previrt
