// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace previrt::process {

// Runs the guest's user mode in the process beside this one, until it needs its kernel or the VMM.
void run_user_mode();

} // namespace previrt::process
