// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace previrt::agent {

// Mounts the file systems that a program expects: /dev, /proc, /sys, /tmp. Brings up the loopback device.
void prepare_root();

} // namespace previrt::agent
