// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace previrt {

// The guest may now be interrupted: is it?
[[nodiscard]] bool interrupt_is_due();
void deliver_due_interrupt();
// hlt: returns when an interrupt is due.
void halt();

} // namespace previrt
