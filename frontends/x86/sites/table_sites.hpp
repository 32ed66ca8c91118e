// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt {

// A call by a site that writes a page-table entry: Linux makes some hundreds for each process. Executes it
// without the general path of a site, which looks at everything that an instruction may change. Sets RIP;
// RSP is the guest's after its return from the call. False: nothing was done.
bool execute_table_site(std::uint64_t return_address);

} // namespace previrt
