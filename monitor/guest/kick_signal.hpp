// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace previrt {

// Calls the thread that runs a processor out of KVM_RUN: all that it says is that there may be something to
// do.
int calling_signal();

// From now on its arrival ends nothing.
void receive_calling_signals();

} // namespace previrt
