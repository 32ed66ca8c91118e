// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>

namespace previrt::kvm_privileged {

// Before an access: the monitor has delivered an interrupt since, by what the mailbox said of it. The devices
// are brought to the same point.
void take_delivered();

// INTA, if the 8259s ask for it.
std::optional<std::uint8_t> take_interrupt();

// After it: what can come by itself now, for the mailbox. The monitor, which runs next, looks there.
void predict();
// The same, and the monitor runs at once where it must.
void tell_monitor();

} // namespace previrt::kvm_privileged
