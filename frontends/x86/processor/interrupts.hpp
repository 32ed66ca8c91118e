// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace previrt {

// An interrupt is requested, and the guest has interrupts enabled.
[[nodiscard]] bool interrupt_is_due();
void deliver_due_interrupt();
// The same for an NMI, which the interrupt flag does not hold off.
[[nodiscard]] bool nmi_is_due();
void deliver_due_nmi();
// hlt: returns when an interrupt or an NMI is due.
void halt();

} // namespace previrt
