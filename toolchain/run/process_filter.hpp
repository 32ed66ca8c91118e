// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <vector>

namespace previrt {

// The seccomp filter of a guest's host processes, as the kernel takes it: what the VMM calls, with the
// arguments that it has. All else ends the process. Throws InputError.
std::vector<std::uint8_t> make_process_filter();

} // namespace previrt
