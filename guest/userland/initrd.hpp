// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace previrt {

// The small guest userland (busybox) with further files, {path in the guest, file}. Returns the path of the
// initrd, build/initrd/NAME. Throws InputError.
std::string make_initrd(const std::string& name,
                        const std::vector<std::pair<std::string, std::string>>& files);

} // namespace previrt
