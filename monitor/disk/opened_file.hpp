// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"

#include <string>

namespace previrt {

struct OpenedFile {
    Descriptor descriptor;
    bool is_device = false; // a block device
};

// The one line that refuses a file of --disk.
[[noreturn]] void refuse_disk(const std::string& path, const std::string& reason);

// Opens a file of a disk, and locks it against other guests. Throws InputError.
OpenedFile open_disk_file(const std::string& path, bool is_written);

// The same lock again, after another program had it. Throws InputError.
void lock_opened_file(const std::string& path, const Descriptor& file, bool is_written);

// Whether the file begins as a qcow2 image does.
[[nodiscard]] bool looks_like_qcow2(const Descriptor& file);

} // namespace previrt
