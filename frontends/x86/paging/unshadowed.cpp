// SPDX-License-Identifier: BSD-2-Clause
// For a back-end without page tables: the processor walks the guest's own.
#include "frontends/x86/paging/written_memory.hpp"

namespace previrt {

void before_guest_write(std::uint64_t /*guest_physical*/) {}

} // namespace previrt
