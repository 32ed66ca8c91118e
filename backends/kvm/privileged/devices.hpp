// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>

namespace previrt::kvm_privileged {

// Called before an access: if the monitor has delivered an interrupt by the mailbox's prediction, the devices
// take the same step.
void take_delivered();

// INTA, if the 8259s request an interrupt.
std::optional<std::uint8_t> take_interrupt();

// Called after an access for which the monitor asked: writes the next event of the devices into the mailbox.
void after_question();
// Called after a site's access: the same, but exits to the monitor at once if it has to act.
void tell_monitor();

} // namespace previrt::kvm_privileged
