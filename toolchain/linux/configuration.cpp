// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/linux/configuration.hpp"

#include "host/file.hpp"
#include "host/input_error.hpp"
#include "host/tree.hpp"

#include <filesystem>
#include <iostream>
#include <map>
#include <sstream>

namespace previrt {

namespace {

// By name: the parts, of which a later one extends the earlier ones.
const std::map<std::string, std::vector<std::string>> our_configurations = {
    {"small", {"small"}},
    {"rich", {"small", "rich"}},
    {"container", {"small", "rich", "container"}},
    {"kunit", {"small", "kunit"}},
    {"small+xen", {"small", "xen"}},
    {"rich+xen", {"small", "rich", "xen"}},
    {"container+xen", {"small", "rich", "container", "xen"}},
};

// Option to value; "n" for "is not set".
std::map<std::string, std::string> options_of(const std::string& text) {
    std::map<std::string, std::string> options;
    std::istringstream lines(text);
    for (std::string line; std::getline(lines, line);) {
        constexpr std::string_view unset = " is not set";
        const std::size_t equals = line.find('=');
        if (line.starts_with("CONFIG_") && equals != std::string::npos) {
            options[line.substr(0, equals)] = line.substr(equals + 1);
        } else if (line.starts_with("# CONFIG_") && line.ends_with(unset)) {
            options[line.substr(2, line.size() - 2 - unset.size())] = "n";
        }
    }
    return options;
}

} // namespace

LinuxConfiguration find_configuration(const std::string& name_or_file, const std::string& version) {
    LinuxConfiguration configuration{.name = name_or_file, .files = {}, .text = {}, .ours = false};
    if (const auto ours = our_configurations.find(name_or_file); ours != our_configurations.end()) {
        configuration.ours = true;
        // Each is followed by the options that only this version has or names differently.
        for (const std::string& part : ours->second) {
            configuration.files.push_back(in_source_tree("linux-patches/configs/" + part));
            const std::string own = in_source_tree("linux-patches/" + version + "/" + part);
            if (std::filesystem::exists(own)) {
                configuration.files.push_back(own);
            }
        }
    } else {
        configuration.files.push_back(name_or_file);
    }
    for (const std::string& file : configuration.files) {
        configuration.text += read_text(file);
    }
    return configuration;
}

void check_configuration(const LinuxConfiguration& configuration, const std::string& dot_config, bool plain) {
    const std::map<std::string, std::string> made = options_of(read_text(dot_config));
    const auto value = [&](const std::string& option) {
        const auto found = made.find(option);
        return found == made.end() ? std::string("n") : found->second;
    };
    std::string differences;
    for (const auto& [option, wanted] : options_of(configuration.text)) {
        if (value(option) != wanted) {
            differences += "\n  " + option + "=" + wanted + " became " + value(option);
        }
    }
    if (!differences.empty()) {
        const std::string message =
            "configuration " + configuration.name +
            ": this kernel does not take these options (unknown, or something they need is off):" +
            differences;
        if (configuration.ours) {
            throw InputError(message);
        }
        std::cerr << "previrt: " << message << '\n';
    }
    if (value("CONFIG_X86_64") != "y") {
        throw InputError("configuration " + configuration.name +
                         ": CONFIG_X86_64 is off: previrt is for 64 bits");
    }
    for (const char* const option : {"CONFIG_PARAVIRT_XXL", "CONFIG_XEN", "CONFIG_X86_5LEVEL"}) {
        if (!plain && value(option) != "n") {
            throw InputError(
                "configuration " + configuration.name + ": " + option +
                " is on: a pre-virtualized kernel is written for bare metal with 4-level paging; turn it "
                "off");
        }
    }
}

} // namespace previrt
