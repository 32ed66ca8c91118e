// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace previrt::oci {

// The options of a mount of config.json.
struct MountOptions {
    unsigned long flags = 0; // of mount(2); without those below
    bool is_bind = false;
    bool copies_up = false;            // a tmpfs begins with the files that it hides
    std::string data;                  // for the file system, with commas between
    std::vector<std::string> unshared; // that would let mounts pass between machine and container
};

// Throws InputError, with the mount's destination, if an option is not supported.
MountOptions parse_mount_options(const nlohmann::json& mount);

} // namespace previrt::oci
