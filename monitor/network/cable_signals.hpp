// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"

#include <optional>

namespace previrt {

// SIGUSR1 pulls the cable of the guest's network card, SIGUSR2 plugs it in again. From now on this thread and
// the threads that it starts block them; they arrive in the descriptor, which is nonblocking.
Descriptor hold_cable_signals();

// Whether the last signal plugs the cable in; nullopt: none has come.
std::optional<bool> read_cable_signals(const Descriptor& signals);

} // namespace previrt
