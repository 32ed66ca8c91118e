// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace previrt {

// Puts a memory balloon into the PC if the back-end can release memory.
void insert_balloon();
// Releases the memory that the guest has given to the balloon.
void serve_balloon();

} // namespace previrt
