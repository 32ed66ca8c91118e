// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace previrt {

unsigned last_processor();
// From here on we run there alone, with what we start, and before others where we may. Throws InputError.
void move_to_processor(unsigned number);

} // namespace previrt
