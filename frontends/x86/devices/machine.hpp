// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "frontends/x86/machine_state.hpp"

namespace previrt {

// The devices around the virtual processor.
inline constexpr Pc& pc = machine_state.pc;

// Takes what has come from outside since: input, time. Sets the timer for what comes next by itself.
void take_events();
// The vector of the interrupt that is requested: it is in service now.
std::uint8_t acknowledge_interrupt();
// A device was read, by which time has passed for all of them.
void device_was_read();
// The same where one that only passes on the requests of others was written.
void interrupt_controller_was_written();
// Or the network card: nothing else has changed.
void network_card_was_written(std::uint64_t now);
// What the UART has sent goes to the console.
void flush_console();

} // namespace previrt
