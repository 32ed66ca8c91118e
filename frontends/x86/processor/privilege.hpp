// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace previrt {

// Changes to level 0 or 3, and switches the GS bases accordingly.
void set_privilege(unsigned level);

// swapgs, with immediate effect on memory accesses through GS.
void exchange_gs_bases();

} // namespace previrt
