// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace previrt {

// Whether system calls may come and go by system_calls.h, for what only the VMM changes.
bool system_calls_may_be_quick();

} // namespace previrt
