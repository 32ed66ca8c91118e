// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace previrt {

// An image has the definitions of vsock.cpp or, if its back-end has no vsock, those of without_vsock.cpp.

// Puts a vsock device into the PC if the back-end has the host's end of its streams.
void insert_vsock();
// Moves all waiting packets between device and back-end, with at most one doorbell to the host.
void serve_vsock();

} // namespace previrt
