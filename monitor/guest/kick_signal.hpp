// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace previrt {

// Interrupts KVM_RUN of the processor's thread. It carries no information: the thread looks for work.
int calling_signal();

// From now on the signal ends no process.
void receive_calling_signals();

} // namespace previrt
