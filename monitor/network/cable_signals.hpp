// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"

#include <optional>

namespace previrt {

// SIGUSR1 pulls the cable of the guest's network card, SIGUSR2 plugs it in again. From here on they are held
// for this thread and those that it starts, and wait in the descriptor, which is nonblocking.
Descriptor hold_cable_signals();

// Whether the last that came plugs it in; nullopt: none has come.
std::optional<bool> read_cable_signals(const Descriptor& signals);

} // namespace previrt
