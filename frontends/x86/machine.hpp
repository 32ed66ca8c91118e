// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/platform/pc.hpp"

namespace previrt {

// The devices around the virtual processor.
extern Pc pc;

// Takes what has come from outside since: input, time. Sets the timer for what comes next by itself.
void take_events();
// The guest may now be interrupted: is it?
[[nodiscard]] bool interrupt_is_due();
void deliver_due_interrupt();
// hlt: returns when an interrupt is due.
void halt();
// What the UART has sent goes to the console.
void flush_console();

} // namespace previrt
