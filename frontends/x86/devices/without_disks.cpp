// SPDX-License-Identifier: BSD-2-Clause
// For a back-end without disks.
#include "frontends/x86/devices/disks.hpp"

namespace previrt {

void insert_disks() {}
void serve_disks() {}

} // namespace previrt
