// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace previrt::agent {

// Mounts what a program expects below the root: /dev, /proc, /sys, /tmp. Brings up the loopback device.
void prepare_root();

} // namespace previrt::agent
