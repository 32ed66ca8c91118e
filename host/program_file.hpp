// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"
#include "host/rights.hpp"

#include <string>

namespace previrt {

// Opens a file for a program that inherits the descriptor and has only these rights. The program reads it
// under name_of_inherited, even if it may not read the file or enter its directories. Throws InputError.
Descriptor open_for_program(const std::string& path, Rights rights);

// The name by which a program opens an inherited descriptor.
std::string name_of_inherited(const Descriptor& descriptor);

} // namespace previrt
