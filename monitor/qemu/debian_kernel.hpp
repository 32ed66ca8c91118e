// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

namespace previrt {

// Takes of linux-image-amd64, unpacked in `root`, what is needed of its 400 MB: the kernel's ELF image to
// `vmlinux`, and these modules, named below lib/modules/VERSION/kernel, to the directory `modules_to`. Throws
// InputError naming what is not there.
void take_debian_kernel(const std::string& root, const std::string& vmlinux,
                        const std::vector<std::string>& modules, const std::string& modules_to);

std::string name_of_module(const std::string& module);

} // namespace previrt
