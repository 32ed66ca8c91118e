// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/input_error.hpp"

#include <cerrno>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <system_error>

namespace previrt {

// A directory that is removed with its contents at the end.
class TemporaryDirectory {
public:
    TemporaryDirectory() : path_((std::filesystem::temp_directory_path() / "previrt-XXXXXX").string()) {
        if (mkdtemp(path_.data()) == nullptr) {
            throw InputError(path_ + ": " + std::generic_category().message(errno));
        }
    }
    ~TemporaryDirectory() {
        std::error_code ignored;
        std::filesystem::remove_all(path_, ignored);
    }
    TemporaryDirectory(const TemporaryDirectory&) = delete;
    TemporaryDirectory& operator=(const TemporaryDirectory&) = delete;

    [[nodiscard]] const std::string& path() const { return path_; }

private:
    std::string path_;
};

} // namespace previrt
