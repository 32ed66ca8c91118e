// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace previrt::traced {

// The child's GS base is the kernel's or user mode's, by the privilege level.
void enter_with_gs_base();
void leave_with_gs_base();

} // namespace previrt::traced
