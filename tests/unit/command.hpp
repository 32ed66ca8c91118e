// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace previrt {

struct CommandResult {
    int status; // exit status, or 128 + signal
    std::string output;
};

// Runs a shell command; standard output and error together.
CommandResult run_command(const std::string& command);

// A directory of its own for one test, removed at the end.
class ScratchDirectory {
public:
    ScratchDirectory();
    ~ScratchDirectory();
    ScratchDirectory(const ScratchDirectory&) = delete;
    ScratchDirectory& operator=(const ScratchDirectory&) = delete;

    [[nodiscard]] std::string path(const std::string& name) const { return path_ + "/" + name; }
    [[nodiscard]] std::string write(const std::string& name, const std::string& text) const;

private:
    std::string path_;
};

} // namespace previrt
