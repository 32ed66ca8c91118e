// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <string>

namespace previrt {

// A Debian userland whose first process is bench/guest/programs.sh, in memory while this lives.
class DebianTree {
public:
    // With this source of Linux in /usr/src/linux, unless it is empty. Throws InputError.
    explicit DebianTree(const std::string& linux_source);
    ~DebianTree();
    DebianTree(const DebianTree&) = delete;
    DebianTree& operator=(const DebianTree&) = delete;

    [[nodiscard]] std::string root() const { return directory_ + "/root"; }
    [[nodiscard]] std::string initrd() const { return directory_ + "/initrd"; }

private:
    std::string directory_;
};

} // namespace previrt
