// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"

namespace previrt {

// The signals that end the guest, and then this program in order, so that the terminal gets its mode back.
// From now on this thread and the threads that it starts block them; they arrive in the descriptor. SIGPIPE
// is ignored.
Descriptor hold_ending_signals();

} // namespace previrt
