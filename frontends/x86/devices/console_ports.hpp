// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace previrt {

// An image has the definitions of console_ports.cpp or, if its back-end has no such ports, those of
// without_console_ports.cpp.

// Puts a console device into the PC if the back-end has ports for it.
void insert_console_ports();
// Moves all waiting bytes between device and back-end, with at most one doorbell to the host.
void serve_console_ports();
// The guest has sent bytes for which the host had no room: they would be lost with its end.
bool console_ports_wait();

} // namespace previrt
