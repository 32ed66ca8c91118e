// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <vector>

namespace previrt {

// The seccomp filter of a guest's host processes, as the kernel takes it: what the VMM calls, with the
// arguments that it has. All else ends the process. With --isolate it answers user processes, too, and calls
// them by a signal that nobody minds. Throws InputError.
std::vector<std::uint8_t> make_process_filter(bool isolates = false);

} // namespace previrt
