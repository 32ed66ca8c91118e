// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/folder/choice.hpp"

#include "host/input_error.hpp"
#include "inplace-vmm/backend/folder.hpp"

#include <algorithm>
#include <filesystem>
#include <system_error>
#include <utility>

namespace previrt {

namespace {

std::string directory(const std::string& option, const std::string& path) {
    std::error_code error;
    const std::filesystem::path found = std::filesystem::canonical(path, error);
    if (error) {
        throw InputError(option + ": " + path + ": " + error.message());
    }
    if (!std::filesystem::is_directory(found, error)) {
        throw InputError(option + ": " + path + ": " + (error ? error.message() : "it is no folder"));
    }
    return found.string();
}

void check_tag(const std::string& option, const std::string& tag) {
    if (tag.empty() || tag.size() > backend::most_tag_bytes) {
        throw InputError(option + ": the tag '" + tag + "' has " + std::to_string(tag.size()) +
                         " bytes, and a tag has 1 to " + std::to_string(backend::most_tag_bytes) +
                         ": name another one, as in DIR:TAG");
    }
}

FolderChoice parse_share(const std::string& text) {
    constexpr std::string_view read_only = ",ro";
    const std::string option = "--share " + text;
    std::string rest = text;
    const bool is_read_only = rest.ends_with(read_only);
    if (is_read_only) {
        rest.resize(rest.size() - read_only.size());
    }
    std::string tag;
    const std::size_t colon = rest.rfind(':');
    if (colon != std::string::npos && rest.find('/', colon) == std::string::npos) {
        tag = rest.substr(colon + 1);
        rest.resize(colon);
        check_tag(option, tag);
    }
    if (rest.empty()) {
        throw InputError(option + ": there is no folder's name; it is DIR[:TAG][,ro]");
    }
    const std::string path = directory(option, rest);
    if (colon == std::string::npos || tag.empty()) {
        const std::string name = std::filesystem::path(path).filename().string();
        tag = name.empty() ? "root" : name;
        check_tag(option, tag);
    }
    return {.path = path, .tag = tag, .is_read_only = is_read_only};
}

FolderChoice parse_share_socket(const std::string& text) {
    const std::string option = "--share-socket " + text;
    const std::size_t colon = text.rfind(':');
    if (colon == std::string::npos || colon == 0) {
        throw InputError(option + ": it is SOCKET:TAG");
    }
    std::string tag = text.substr(colon + 1);
    check_tag(option, tag);
    return {.path = text.substr(0, colon), .tag = std::move(tag), .is_read_only = false, .is_socket = true};
}

void add_folder(std::vector<FolderChoice>& folders, const std::string& option, FolderChoice choice) {
    if (std::ranges::find(folders, choice.tag, &FolderChoice::tag) != folders.end()) {
        throw InputError(option + ": another folder has the tag '" + choice.tag +
                         "' already: name one, as in DIR:TAG");
    }
    folders.push_back(std::move(choice));
}

} // namespace

std::vector<FolderChoice> parse_folders(const RunOptions& options) {
    std::vector<FolderChoice> folders;
    if (!options.root.empty()) {
        folders.push_back({.path = directory("--root", options.root),
                           .tag = std::string(root_tag),
                           .is_read_only = !options.root_is_writable});
    } else if (options.root_is_writable) {
        throw InputError("--rw: that is for the folder of --root");
    }
    for (const std::string& text : options.shares) {
        add_folder(folders, "--share " + text, parse_share(text));
    }
    for (const std::string& text : options.share_sockets) {
        add_folder(folders, "--share-socket " + text, parse_share_socket(text));
    }
    if (folders.size() > backend::most_folders) {
        throw InputError("--share: a guest has " + std::to_string(backend::most_folders) +
                         " folders at most, with that of --root");
    }
    return folders;
}

} // namespace previrt
