// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt {

// The VMM is about to write to guest memory on the guest's behalf; a page table may be there. An image has
// the definition of shadow/tables.cpp or that of unshadowed.cpp.
void before_guest_write(std::uint64_t guest_physical);

} // namespace previrt
