// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <vector>

namespace previrt {

// The seccomp filter of a guest's host processes, in the kernel's format: the VMM's calls with their
// arguments. Any other call ends the process. With --isolate it also answers user processes; with --isolate
// or several processors it sends a signal that is ignored by default; with disks and folders it rings their
// doorbells. Throws InputError.
std::vector<std::uint8_t> make_process_filter(bool isolates = false, unsigned disks = 0, unsigned folders = 0,
                                              unsigned processors = 1);

} // namespace previrt
