// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/options.hpp"
#include "toolchain/pack/guest_package.hpp"

namespace previrt {

// The guest's package as the options have it. With a command or --root, the agent comes in front of the
// initrd, and is the guest's first process. Throws InputError.
GuestPackageOptions package_options(const RunOptions& options);

} // namespace previrt
