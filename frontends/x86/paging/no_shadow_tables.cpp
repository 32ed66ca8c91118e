// SPDX-License-Identifier: BSD-2-Clause
// In place of shadow_tables.cpp, for a back-end where the processor has the guest's own page tables.
#include "frontends/x86/paging/shadow/tables.hpp"

namespace previrt {

void shadow_before_write(std::uint64_t /*guest_physical*/) {}

} // namespace previrt
