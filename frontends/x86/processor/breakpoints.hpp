// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The guest's breakpoints in user mode, where the real debug registers are not its own: while DR7 enables
// one, user mode runs by single steps. Those that the kernel itself meets are not found.
namespace previrt {

// DR7 was written.
void note_breakpoints();
[[nodiscard]] bool breakpoints_are_enabled();

// The guest is about to run in user mode. True: it is at an instruction breakpoint, and #DB is raised.
bool stop_at_breakpoint();
void prepare_step();

// The guest has come back: its TF is its own again.
void end_step();
// It has come back by #DB. True: there is nothing to tell the guest.
bool finish_watched_step();

} // namespace previrt
