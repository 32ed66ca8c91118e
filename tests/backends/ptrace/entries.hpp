// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace previrt::traced {

// The guest runs, from the state in the Vcpu, until it ends.
[[noreturn]] void run_guest();

} // namespace previrt::traced
