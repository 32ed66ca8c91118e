// SPDX-License-Identifier: BSD-2-Clause
#include "bench/idle/process_table.hpp"

#include "host/input_error.hpp"

#include <cerrno>
#include <charconv>
#include <ctime>
#include <filesystem>
#include <fstream>
#include <istream>
#include <optional>
#include <sstream>
#include <string>

namespace previrt {

namespace {

std::optional<pid_t> process_number(const std::string& name) {
    pid_t number = 0;
    const auto [end, error] = std::from_chars(name.data(), name.data() + name.size(), number);
    return error == std::errc() && end == name.data() + name.size() ? std::optional(number) : std::nullopt;
}

// nullopt: it may have ended meanwhile.
std::optional<pid_t> parent_of(const std::filesystem::path& process) {
    std::ifstream file(process / "stat");
    std::string line;
    std::getline(file, line);
    const std::size_t name_end = line.rfind(')'); // the name may have any character
    if (name_end == std::string::npos) {
        return std::nullopt;
    }
    std::istringstream words(line.substr(name_end + 1));
    std::string state;
    pid_t parent = 0;
    return words >> state >> parent ? std::optional(parent) : std::nullopt;
}

// From a line `NAME: NUMBER kB`.
std::uint64_t read_bytes(std::istream& file, const std::string& path, const std::string& name) {
    for (std::string line; std::getline(file, line);) {
        std::istringstream words(line);
        std::string word;
        std::uint64_t kibibytes = 0;
        if (words >> word >> kibibytes && word == name + ":") {
            return kibibytes << 10U;
        }
    }
    throw InputError(path + ": it has no " + name);
}

std::uint64_t read_bytes(const std::string& path, const std::string& name) {
    std::ifstream file(path);
    return read_bytes(file, path, name);
}

std::optional<std::uint64_t> read_if_allowed(const std::string& path, const std::string& name) {
    errno = 0;
    std::ifstream file(path);
    if (!file && (errno == EACCES || errno == EPERM)) {
        return std::nullopt;
    }
    return read_bytes(file, path, name);
}

} // namespace

ProcessTable::ProcessTable() {
    for (const auto& entry : std::filesystem::directory_iterator("/proc")) {
        if (const auto process = process_number(entry.path().filename().string())) {
            if (const auto parent = parent_of(entry.path())) {
                children_.emplace(*parent, *process);
            }
        }
    }
}

std::vector<pid_t> ProcessTable::family_of(pid_t first) const {
    std::vector<pid_t> family = {first};
    for (std::size_t i = 0; i < family.size(); ++i) {
        const auto [begin, end] = children_.equal_range(family[i]);
        for (auto child = begin; child != end; ++child) {
            family.push_back(child->second);
        }
    }
    return family;
}

std::chrono::nanoseconds processor_time(pid_t process) {
    clockid_t clock = 0;
    timespec time{};
    if (clock_getcpuclockid(process, &clock) != 0 || clock_gettime(clock, &time) != 0) {
        return {};
    }
    return std::chrono::seconds(time.tv_sec) + std::chrono::nanoseconds(time.tv_nsec);
}

MemoryUse memory_use(pid_t process) {
    const std::string directory = "/proc/" + std::to_string(process);
    return {.pages = read_if_allowed(directory + "/smaps_rollup", "Pss"),
            .page_tables = read_bytes(directory + "/status", "VmPTE")};
}

std::uint64_t available_memory() {
    return read_bytes("/proc/meminfo", "MemAvailable");
}

} // namespace previrt
