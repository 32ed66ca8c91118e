// SPDX-License-Identifier: BSD-2-Clause
// For a back-end without ports of a console device.
#include "frontends/x86/devices/console_ports.hpp"

namespace previrt {

void insert_console_ports() {}
void serve_console_ports() {}
bool console_ports_wait() {
    return false;
}

} // namespace previrt
