// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/options.hpp"

namespace previrt {

// Runs a Linux that was ported to Xen as its first domain, until it powers off. Replaces run_guest, without
// the checks of its options. Throws InputError.
RunStatus run_xenolinux(const RunOptions& options);

} // namespace previrt
