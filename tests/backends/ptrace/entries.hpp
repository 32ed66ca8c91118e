// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace previrt::traced {

// The guest runs, from the state in the Vcpu, until it ends.
[[noreturn]] void run_guest();
// Called after each stop, for tests: the Vcpu has the guest's registers.
extern void (*after_stop)();

} // namespace previrt::traced
