// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace previrt::backend {

// The guest's processors, by number; vcpu.number is the present one. They execute the VMM one at a time: from
// an entry to the return to the guest, except in idle().
//
// Statics in section `processor` are each processor's own, at the same address.

unsigned processor_count(); // fixed from the start
// That processor enters the VMM soon, or returns from idle(), and looks for events. If it was never started,
// it begins with begin_processor().
void notify_processor(unsigned processor);
// Another processor may execute the VMM meanwhile.
void let_others_go_on();
// No other processor executes the guest on return, nor until this one has left the VMM. Before they go on,
// they forget all cached translations that have changed.
void gather_processors();

} // namespace previrt::backend
