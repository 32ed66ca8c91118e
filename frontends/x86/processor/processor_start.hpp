// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace previrt {

// A processor other than the boot processor begins here: it waits for its start (INIT and SIPI), and goes
// through the guest's start-up code until it is in 64-bit mode.
void begin_processor();
// INIT has come: the processor is reset, and waits again.
[[nodiscard]] bool reset_is_requested();
void reset_processor();
// Tells the processors that the present one has sent something to.
void notify_processors();

} // namespace previrt
