// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace previrt {

// To level 0 or 3. The GS bases go with it: user mode finds the active one active.
void set_privilege(unsigned level);

// swapgs, so that memory accesses through GS see it.
void exchange_gs_bases();

} // namespace previrt
