// SPDX-License-Identifier: BSD-2-Clause
// For a back-end without folders.
#include "frontends/x86/devices/folders.hpp"

namespace previrt {

void insert_folders() {}
void serve_folders() {}

} // namespace previrt
