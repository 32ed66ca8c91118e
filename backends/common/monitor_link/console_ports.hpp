// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/common/contract/console_ports_start.hpp"

namespace previrt::monitored {

const ConsolePortsStart& console_ports();
void ring_for_console_ports(); // there are sent packets, or there is room for received ones

} // namespace previrt::monitored
