// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace previrt {

unsigned last_processor();
// From now on this program and its children run on that processor alone, with the highest priority that this
// machine permits. Throws InputError.
void move_to_processor(unsigned number);

} // namespace previrt
