// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt {

// Executes the site in front of the return address if it is frequent and disturbs nothing: it raises no
// exception, and neither the guest's privilege nor its interrupts change. Reads and writes of GS bases, and
// loads of CR3. False: nothing was done.
bool execute_quiet_site(std::uint64_t return_address);

} // namespace previrt
