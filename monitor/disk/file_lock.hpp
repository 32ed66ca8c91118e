// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace previrt {

// Locks an open file for as long as it is open, so that no other guest writes to it, of previrt's or of
// QEMU's, which has the same locks (its option file.locking); and nobody reads a file that another one writes
// to. False, with errno: EAGAIN if another one has it.
[[nodiscard]] bool lock_disk_file(int file, bool is_written);

} // namespace previrt
