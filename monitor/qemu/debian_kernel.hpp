// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

namespace previrt {

// Takes the needed part of linux-image-amd64's 400 MB, unpacked in `root`: copies the kernel's ELF image to
// `vmlinux`, and these modules, named relative to lib/modules/VERSION/kernel, to the directory `modules_to`.
// Throws InputError with a missing file's name.
void take_debian_kernel(const std::string& root, const std::string& vmlinux,
                        const std::vector<std::string>& modules, const std::string& modules_to);

std::string name_of_module(const std::string& module);

} // namespace previrt
