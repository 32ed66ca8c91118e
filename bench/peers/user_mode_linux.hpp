// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"

#include <string>
#include <vector>

namespace previrt {

// Debian's User Mode Linux: this machine's own, else its package from the cache. Throws InputError.
std::string find_user_mode_linux();

// Boots `initrd`, with `words` on the command line; the console is standard output. Its files go to
// `directory`.
Program user_mode_linux(const std::string& linux, const std::string& initrd,
                        const std::vector<std::string>& words, const std::string& directory,
                        const std::string& memory = "256M");

// The same with this machine's root, read-only, in the place of an initrd. `disks` are the arguments that
// name them.
Program user_mode_linux_on_root(const std::string& linux, const std::vector<std::string>& disks,
                                const std::vector<std::string>& words, const std::string& directory,
                                const std::string& memory);

} // namespace previrt
