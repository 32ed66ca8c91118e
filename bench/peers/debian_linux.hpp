// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <utility>
#include <vector>

namespace previrt {

// Debian's unchanged kernel, with the modules of virtio's network card.
struct DebianLinux {
    std::string vmlinux;
    std::vector<std::pair<std::string, std::string>> modules; // for make_initrd, in load order
};

// Downloaded on first use. Throws InputError.
DebianLinux find_debian_linux();

} // namespace previrt
