// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace previrt {

// A file whose bytes an image shows wherever the image has none of its own.
struct BackingChoice {
    std::string path;
    std::string format; // empty: raw, if nothing speaks against it
};

// The parts of one `--disk`.
struct DiskChoice {
    std::string path;
    bool is_read_only = false;
    bool is_snapshot = false; // writes go to a temporary file, and are forgotten at the end
    bool is_unsafe = false;   // a flush does nothing
    // The two may be left out. NOLINTBEGIN(readability-redundant-member-init)
    std::string format = {};                 // empty as above
    std::vector<BackingChoice> backing = {}; // each backs the one before it
    // NOLINTEND(readability-redundant-member-init)

    // The file is in a format of other programs.
    [[nodiscard]] bool is_image() const { return !format.empty() && format != "raw"; }
    // The guest's writes reach the file.
    [[nodiscard]] bool is_written() const { return !is_read_only && !is_snapshot; }
};

// FILE[,ro][,snapshot][,cache=unsafe][,format=FORMAT][,backing=FILE[,backing-format=FORMAT]]...; a comma in a
// file's name is doubled. Throws InputError with the wrong part.
DiskChoice parse_disk(std::string_view text);
// Of all `--disk`.
std::vector<DiskChoice> parse_disks(const std::vector<std::string>& texts);

// Of the formats of images.
[[nodiscard]] bool has_backing_files(std::string_view format);

} // namespace previrt
