// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace previrt {

// Asks a guest to end: its command by SIGTERM, or, if it has a first process of its own, by its program
// `poweroff`. After this many seconds the run is killed. Gives previrt's exit status: 1 if it had to be
// killed. Throws InputError if there is no such guest.
int stop_guest(const std::string& name, double seconds);

} // namespace previrt
