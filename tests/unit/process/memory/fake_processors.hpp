// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

// The model's processors: their own statics are in one place of this program, and in memory while another
// processor has that place.
namespace previrt::fake {

// Keeps the statics as they are now, for all processors.
void start_processors(unsigned count);
unsigned present_processor();
// Exchanges the statics. Returns whether the other one was gathered since it had them.
bool exchange_processor(unsigned processor);
// Whether that one has begun; it has now.
bool begin_processor(unsigned processor);

} // namespace previrt::fake
