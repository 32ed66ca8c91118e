// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace previrt::backend {

void idle(); // until an event may have come
// Whether an asynchronous event has come since the last call.
bool take_events();
// Makes the guest enter the VMM as soon as it enables interrupts.
void request_attention();

} // namespace previrt::backend
