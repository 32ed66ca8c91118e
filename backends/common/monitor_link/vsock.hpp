// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/common/contract/vsock_start.hpp"

namespace previrt::monitored {

const VsockStart& vsock();
void ring_for_vsock(); // there are sent packets, or there is room for received ones

} // namespace previrt::monitored
