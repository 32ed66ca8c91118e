// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

namespace previrt {

// Kernel options. An option that is not named is off, or follows from the named ones.
struct LinuxConfiguration {
    std::string name;
    std::vector<std::string> files; // a later one overrides
    std::string text;               // of all files
    bool ours;
};

// "small", "rich", "container", each with "+xen" behind it for a kernel with Linux's own port to Xen, or the
// path of a user's file. Throws InputError.
LinuxConfiguration find_configuration(const std::string& name_or_file, const std::string& version);

// Compares the result of the kernel's build (its .config) with the requested options. A changed option is an
// error in a configuration of previrt's, and a message for a user's. Throws InputError with the options.
void check_configuration(const LinuxConfiguration& configuration, const std::string& dot_config, bool plain);

} // namespace previrt
