// SPDX-License-Identifier: BSD-2-Clause
// For a back-end without disks.
#include "frontends/x86/devices/disks.hpp"

namespace previrt {

void insert_disks() {}
void serve_disks() {}
std::optional<std::uint64_t> disks_due() {
    return {};
}

} // namespace previrt
