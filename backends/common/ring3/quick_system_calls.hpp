// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace previrt {

// Whether system calls may use system_calls.h, as far as the VMM's own state decides it.
bool system_calls_may_be_quick();

} // namespace previrt
