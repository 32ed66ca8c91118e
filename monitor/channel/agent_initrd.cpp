// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/channel/agent_initrd.hpp"

#include "guest/agent/messages.hpp"
#include "host/cpio_archive.hpp"
#include "host/file.hpp"
#include "host/input_error.hpp"
#include "host/tree.hpp"
#include "monitor/folder/choice.hpp"

#include <filesystem>
#include <string>
#include <utility>

namespace previrt {

namespace {

agent::FolderUse use_of_root(const RunOptions& options, const FolderChoice& folder) {
    if (options.root_is_container) {
        return agent::FolderUse::container;
    }
    return folder.is_read_only ? agent::FolderUse::overlaid_root : agent::FolderUse::root;
}

std::string list_folders(const RunOptions& options) {
    std::string list;
    const auto add = [&](agent::FolderUse use, const std::string& tag, const std::string& place) {
        list += static_cast<char>(use);
        list += tag + '\0' + place + '\0';
    };
    for (const FolderChoice& folder : parse_folders(options)) {
        if (folder.tag == root_tag) {
            add(use_of_root(options, folder), folder.tag, "");
        } else if (!folder.is_socket) { // its folder is not known
            add(folder.is_read_only ? agent::FolderUse::read_only : agent::FolderUse::writable, folder.tag,
                folder.path);
        }
    }
    if (options.command.empty()) {
        add(agent::FolderUse::no_command, "", "");
    }
    return list;
}

// Linux reads archives one after the other, also if the next one is compressed. The user's is the last, so
// that its files win.
std::vector<std::uint8_t> make_archive(const RunOptions& options) {
    const std::string file = built_file(PREVIRT_AGENT);
    if (!std::filesystem::exists(file)) {
        throw InputError(file +
                         ": the agent of a command's guest is not built (cmake --build --preset release)");
    }
    CpioArchive archive;
    archive.add_file(std::string(agent::agent_path).substr(1), read_file(file), true);
    const std::string folders = list_folders(options);
    if (!folders.empty()) {
        archive.add_file(std::string(agent::folders_path).substr(1),
                         {reinterpret_cast<const std::uint8_t*>(folders.data()), folders.size()}, false);
    }
    return std::move(archive).finish();
}

} // namespace

GuestPackageOptions package_options(const RunOptions& options) {
    GuestPackageOptions package{.initrd = options.initrd,
                                .append = options.append,
                                .memory = options.memory,
                                .print_counters = !options.stats.empty(),
                                .count_cycles = options.count_cycles,
                                .strict = options.strict};
    if (has_agent(options)) {
        const bool is_quiet = !options.command.empty() && !options.verbose;
        const bool has_lease = !options.command.empty() && options.net.starts_with("user");
        package.before_initrd = make_archive(options);
        package.append = std::string(is_quiet ? "quiet " : "") + (has_lease ? "ip=dhcp " : "") +
                         "rdinit=" + agent::agent_path + " " + options.append;
    }
    return package;
}

} // namespace previrt
