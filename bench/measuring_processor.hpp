// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"

namespace previrt {

unsigned last_processor();
// From now on this program and its children run on that processor alone, with the highest priority that this
// machine permits. Throws InputError.
void move_to_processor(unsigned number);
// The program and its children run on so many processors alone. Throws InputError if this program has fewer.
Program limited_to(unsigned processors, Program program);

} // namespace previrt
