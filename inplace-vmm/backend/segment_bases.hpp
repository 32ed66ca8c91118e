// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt::backend {

std::uint64_t read_fs_base();
// The base that is active in kernel mode, or the one that becomes active in user mode.
std::uint64_t read_gs_base(bool user);

} // namespace previrt::backend
