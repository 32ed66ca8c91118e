// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace previrt {

// An interrupt is requested, and the guest has interrupts enabled.
[[nodiscard]] bool interrupt_is_due();
void deliver_due_interrupt();
// hlt: returns when an interrupt is due.
void halt();

} // namespace previrt
