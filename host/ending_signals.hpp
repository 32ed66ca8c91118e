// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"

namespace previrt {

// The signals that end the guest, and us in order: the terminal gets its mode back. From here on they are
// held for this thread and those that it starts, and wait in the descriptor. SIGPIPE is ignored.
Descriptor hold_ending_signals();

} // namespace previrt
