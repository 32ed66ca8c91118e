// SPDX-License-Identifier: BSD-2-Clause
#pragma once

// The guest's breakpoints in user mode, for back-ends that do not give the guest the real debug registers.
// While DR7 enables a breakpoint, user mode runs by single steps. Breakpoints in the kernel are not detected.
namespace previrt {

// The guest wrote DR7.
void note_breakpoints();
[[nodiscard]] bool breakpoints_are_enabled();

// The guest is about to run in user mode. True: it is at an instruction breakpoint, and #DB is raised.
bool stop_at_breakpoint();
void prepare_step();

// The guest has left user mode: TF is the guest's own again.
void end_step();
// The guest has left user mode by #DB. True: the guest gets no exception.
bool finish_watched_step();

} // namespace previrt
