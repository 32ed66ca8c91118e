// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/options.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace previrt {

// A folder of this machine, for a guest.
struct FolderChoice {
    std::string path; // absolute
    std::string tag;  // by which the guest knows it
    bool is_read_only;
    bool is_socket = false; // `path` is that of a server's socket, which listens already
};

inline constexpr std::string_view root_tag = "previrt-root";

// Those of --root, which is the first, of --share, and of --share-socket. Throws InputError.
std::vector<FolderChoice> parse_folders(const RunOptions& options);

} // namespace previrt
