// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "frontends/x86/machine_state.hpp"

namespace previrt {

// The devices around the virtual processor.
inline constexpr Pc& pc = machine_state.pc;

// Takes console input and the passing of time to the devices. Sets the timer for the next event of a device.
void take_events();
// The processor needs no event at any time: it waits for its start.
void stop_timer();
// The vector of the requested interrupt, which is in service from now on.
std::uint8_t acknowledge_interrupt();
// A device was read, which brought all devices up to the present time.
void device_was_read();
// An interrupt controller was written, which only passes on the requests of other devices.
void interrupt_controller_was_written();
// The network card was written; no other device has changed.
void network_card_was_written(std::uint64_t now);
// A disk's controller was written, or is about to be read; no other device has changed.
void disk_is_accessed();
// Writes the output of the UART to the console.
void flush_console();

} // namespace previrt
