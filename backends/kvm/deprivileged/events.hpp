// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// Interrupts of this and of other processors.
namespace previrt::kvm {

void send_interrupt(unsigned processor);
// The next interrupt is no duplicate of the last one: entry.S, event_gate.
void lead_next_event_in();
// Returns at an interrupt, which is then acknowledged, or before. take_events() still sees it.
void wait_for_interrupt();

} // namespace previrt::kvm
