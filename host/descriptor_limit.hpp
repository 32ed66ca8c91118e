// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace previrt {

// Lets this process, and programs that it starts, have as many open descriptors as its user may have. The
// usual limit, 1024, is for programs that call select().
void raise_descriptor_limit();

} // namespace previrt
