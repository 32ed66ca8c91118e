// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <vector>

namespace previrt {

// Kernel options; what is not named is off, or follows from what is.
struct LinuxConfiguration {
    std::string name;
    std::vector<std::string> files; // a later one overrides
    std::string text;               // of all
    bool ours;
};

// "small", "rich", or a file of the user's. Throws InputError.
LinuxConfiguration find_configuration(const std::string& name_or_file, const std::string& version);

// Holds what the kernel's build made of the configuration (its .config) against what was asked for. Options
// that became something else are an error in a configuration of ours, and told to the user of another one.
// Throws InputError: the message names the options.
void check_configuration(const LinuxConfiguration& configuration, const std::string& dot_config, bool plain);

} // namespace previrt
