// SPDX-License-Identifier: BSD-2-Clause
// For a back-end without vsock.
#include "frontends/x86/devices/vsock.hpp"

namespace previrt {

void insert_vsock() {}
void serve_vsock() {}

} // namespace previrt
