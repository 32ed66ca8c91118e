// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/running/copy.hpp"

#include "host/input_error.hpp"
#include "host/program.hpp"
#include "monitor/running/registry.hpp"
#include "monitor/running/session.hpp"

#include <fcntl.h>
#include <filesystem>
#include <linux/capability.h>
#include <optional>
#include <sys/prctl.h>
#include <utility>
#include <vector>

namespace previrt {

namespace {

struct GuestPath {
    std::string guest;
    std::string path;
};

// A ':' behind a '/' belongs to a path of this machine.
std::optional<GuestPath> guest_path(const std::string& text) {
    const std::size_t colon = text.find(':');
    if (colon == std::string::npos || text.find('/') < colon) {
        return {};
    }
    const std::string path = text.substr(colon + 1);
    if (!path.starts_with('/')) {
        throw InputError(text + ": a path in a guest begins with /");
    }
    return GuestPath{.guest = text.substr(0, colon), .path = path};
}

// The path without a '/' at its end, as a directory and a name in it.
std::pair<std::string, std::string> split(std::string path) {
    while (path.size() > 1 && path.ends_with('/')) {
        path.pop_back();
    }
    const std::size_t slash = path.rfind('/');
    const std::string name = path.substr(slash + 1);
    const std::string directory = path.substr(0, slash == std::string::npos ? 0 : slash + 1);
    return {directory.empty() ? "." : directory, name.empty() ? "." : name};
}

// tar renames what it copies by an expression of sed's: its first part becomes this name.
std::string renaming(const std::string& name) {
    std::string replacement;
    for (const char character : name) {
        if (character == '\\' || character == '&' || character == ',') {
            replacement += '\\';
        }
        replacement += character;
    }
    return "--transform=flags=rh;s,^[^/]*," + replacement + ",";
}

// The directory and the name that a copy gets.
std::pair<std::string, std::string> target(const std::string& path, bool is_directory,
                                           const std::string& name) {
    return is_directory ? std::pair(path, name) : split(path);
}

bool is_directory_in(const GuestPath& place, const Descriptor& nothing) {
    return run_in_guest({.name = place.guest,
                         .command = {"test", "-d", place.path},
                         .environment = {},
                         .input = nothing.number(),
                         .output = nothing.number(),
                         .errors = nothing.number()}) == 0;
}

int judge(int ours, int guests) {
    return ours == 0 && guests == 0 ? 0 : 1;
}

// What comes from the guest is not trusted: it makes no device here, and no file of another user's.
int copy_out(const GuestPath& from, const std::string& to) {
    prctl(PR_CAPBSET_DROP, CAP_MKNOD, 0, 0, 0);
    const Descriptor nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
    const auto [source, name] = split(from.path);
    const auto [directory, new_name] = target(to, std::filesystem::is_directory(to), name);
    Pipe archive = make_pipe();
    const pid_t tar =
        start_program({.arguments = {"tar", "--extract", "--file=-", "--directory=" + directory,
                                     "--no-same-owner", "--no-same-permissions", renaming(new_name)},
                       .directory = {},
                       .environment = {}},
                      {.input = archive.read.number()});
    archive.read.close();
    const int guests = run_in_guest({.name = from.guest,
                                     .command = {"tar", "-C", source, "-cf", "-", "--", name},
                                     .environment = {},
                                     .input = nothing.number(),
                                     .output = archive.write.number()});
    archive.write.close();
    return judge(wait_for_program(tar), guests);
}

int copy_in(const std::string& from, const GuestPath& to) {
    if (!std::filesystem::exists(std::filesystem::symlink_status(from))) {
        throw InputError(from + ": there is no such file");
    }
    const Descriptor nothing(open("/dev/null", O_RDWR | O_CLOEXEC));
    const auto [source, name] = split(from);
    const auto [directory, new_name] = target(to.path, is_directory_in(to, nothing), name);
    Pipe archive = make_pipe();
    const pid_t tar = start_program({.arguments = {"tar", "--create", "--file=-", "--directory=" + source,
                                                   renaming(new_name), "--", name},
                                     .directory = {},
                                     .environment = {}},
                                    {.input = nothing.number(), .output = archive.write.number()});
    archive.write.close();
    const int guests = run_in_guest({.name = to.guest,
                                     .command = {"tar", "-C", directory, "-xf", "-"},
                                     .environment = {},
                                     .input = archive.read.number()});
    archive.read.close();
    return judge(wait_for_program(tar), guests);
}

} // namespace

int copy_of_guest(const std::string& from, const std::string& to) {
    require_programs({"tar"});
    const std::optional<GuestPath> source = guest_path(from);
    const std::optional<GuestPath> destination = guest_path(to);
    if (source.has_value() == destination.has_value()) {
        throw InputError(
            "one of the two places must be NAME:PATH, a path in a guest; a path of this machine that has "
            "a ':' needs a '/' in front of it");
    }
    return source ? copy_out(*source, to) : copy_in(from, *destination);
}

} // namespace previrt
