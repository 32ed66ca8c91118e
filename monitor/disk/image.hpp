// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/disk/choice.hpp"
#include "monitor/disk/opened_file.hpp"

#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <vector>

namespace previrt {

struct ImageFile {
    std::string path;
    std::string format;
    OpenedFile file;
    bool is_written;
};

// The first is the disk's. Each further one backs the one before it.
using Image = std::vector<ImageFile>;

// Opens and locks the files. Throws InputError.
Image open_image(const DiskChoice& choice);

// What tells QEMU, or its daemon, to open the files, and no others: the argument of its option --blockdev.
// `name`: by which it finds the file of this place in the image. The node of a place is called disk, or
// backing and the place.
std::string describe_for_qemu(const Image& image, bool is_unsafe,
                              const std::function<std::string(std::size_t place)>& name);
std::string image_node_name(std::size_t place);

// `nodes`: those that the daemon has opened, its answer to query-named-block-nodes. Throws InputError if the
// image names a file that the user did not, and for a size that no disk has. Otherwise the disk's bytes.
std::uint64_t judge_image(const Image& image, const nlohmann::json& nodes);

// An image's text for a terminal.
std::string printable(std::string text);

} // namespace previrt
