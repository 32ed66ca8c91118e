// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace previrt {

// The parts of one `--disk`.
struct DiskChoice {
    std::string path;
    bool is_read_only = false;
    bool is_snapshot = false; // writes go to a temporary file, and are forgotten at the end
    bool is_unsafe = false;   // a flush does nothing
    bool says_format = false; // the file is raw because the user said so
};

// FILE[,ro][,snapshot][,cache=unsafe][,format=raw]; a comma in the file's name is doubled. Throws InputError
// with the wrong part.
DiskChoice parse_disk(std::string_view text);
// Of all `--disk`.
std::vector<DiskChoice> parse_disks(const std::vector<std::string>& texts);

} // namespace previrt
