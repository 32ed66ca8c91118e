// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/nested/command.hpp"

#include <algorithm>
#include <filesystem>
#include <limits>
#include <sstream>

namespace previrt {

namespace {

std::string quoted(const std::string& word) {
    std::string result = "'";
    for (const char character : word) {
        result += character == '\'' ? std::string("'\\''") : std::string(1, character);
    }
    return result + "'";
}

std::string directories_of(const std::vector<std::string>& files) {
    std::vector<std::string> directories;
    for (const std::string& file : files) {
        const std::string directory = std::filesystem::path(file).parent_path().string();
        if (std::ranges::find(directories, directory) == directories.end()) {
            directories.push_back(directory);
        }
    }
    std::string path;
    for (const std::string& directory : directories) {
        path += (path.empty() ? "" : ":") + directory;
    }
    return path;
}

std::string number(double value) {
    std::ostringstream text;
    text.precision(std::numeric_limits<double>::max_digits10);
    text << value;
    return text.str();
}

} // namespace

std::string nested_command(const std::string& program, const std::vector<std::string>& libraries,
                           const RunOptions& options) {
    std::vector<std::string> words = {
        program, "run", options.kernel, "--on", "kvm", "--memory", std::to_string(options.memory)};
    const auto add = [&](std::initializer_list<std::string> more) { words.insert(words.end(), more); };
    if (!options.append.empty()) {
        add({"--append=" + options.append}); // the value may begin with a dash
    }
    if (!options.initrd.empty()) {
        add({"--initrd", options.initrd});
    }
    if (!options.stats.empty()) {
        add({"--stats", options.stats});
    }
    if (options.net != "none") {
        add({"--net", options.net});
    }
    if (options.cpus != 1) {
        add({"--cpus", std::to_string(options.cpus)});
    }
    if (options.isolate) {
        add({"--isolate"});
    }
    if (!options.rewrite) {
        add({"--no-rewrite"});
    }
    if (options.quiet) {
        add({"--quiet"});
    }
    if (options.strict) {
        add({"--strict"});
    }
    if (options.verbose) {
        add({"--verbose"});
    }
    if (options.timeout > 0) {
        add({"--timeout", number(options.timeout)});
    }

    std::string command = "LD_LIBRARY_PATH=" + quoted(directories_of(libraries));
    for (const std::string& word : words) {
        command += " " + quoted(word);
    }
    return command + "\n";
}

} // namespace previrt
