// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/run/process_watch.hpp"

#include <algorithm>
#include <cctype>
#include <filesystem>
#include <fstream>
#include <sstream>
#include <string>
#include <sys/sysinfo.h>

namespace previrt {

namespace {

// PID (NAME) STATE PARENT GROUP ...: anything may be in the name.
pid_t group_of(const std::filesystem::path& process) {
    std::string line;
    std::getline(std::ifstream(process / "stat"), line);
    std::istringstream rest(line.substr(std::min(line.rfind(')') + 1, line.size())));
    std::string state;
    pid_t parent = 0;
    pid_t group = 0;
    rest >> state >> parent >> group;
    return group;
}

} // namespace

unsigned count_processes(pid_t group) {
    unsigned count = 0;
    std::error_code error;
    for (const auto& entry : std::filesystem::directory_iterator("/proc", error)) {
        const std::string name = entry.path().filename();
        count +=
            std::isdigit(static_cast<unsigned char>(name.front())) != 0 && group_of(entry.path()) == group
                ? 1U
                : 0U;
    }
    return count;
}

unsigned ProcessWatch::excess() {
    constexpr unsigned looks_between = 10;
    struct sysinfo machine{};
    sysinfo(&machine);
    const unsigned long all = machine.procs;
    if (looks_left_ != 0 && all < all_counted_ + most_ / 2) {
        --looks_left_;
        return 0;
    }
    looks_left_ = looks_between;
    all_counted_ = all;
    const unsigned count = count_processes(group_);
    return count > most_ ? count : 0;
}

} // namespace previrt
