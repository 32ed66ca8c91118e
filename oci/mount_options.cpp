// SPDX-License-Identifier: BSD-2-Clause
#include "oci/mount_options.hpp"

#include "host/input_error.hpp"

#include <algorithm>
#include <array>
#include <nlohmann/json.hpp>
#include <string_view>
#include <sys/mount.h>

namespace previrt::oci {

namespace {

struct NamedFlag {
    std::string_view name;
    unsigned long flag;
    bool is_set;
};

// As runc's documentation and mount(8) name them.
constexpr std::array named_flags = {
    NamedFlag{"ro", MS_RDONLY, true},
    NamedFlag{"rw", MS_RDONLY, false},
    NamedFlag{"nosuid", MS_NOSUID, true},
    NamedFlag{"suid", MS_NOSUID, false},
    NamedFlag{"nodev", MS_NODEV, true},
    NamedFlag{"dev", MS_NODEV, false},
    NamedFlag{"noexec", MS_NOEXEC, true},
    NamedFlag{"exec", MS_NOEXEC, false},
    NamedFlag{"sync", MS_SYNCHRONOUS, true},
    NamedFlag{"async", MS_SYNCHRONOUS, false},
    NamedFlag{"dirsync", MS_DIRSYNC, true},
    NamedFlag{"mand", MS_MANDLOCK, true},
    NamedFlag{"nomand", MS_MANDLOCK, false},
    NamedFlag{"noatime", MS_NOATIME, true},
    NamedFlag{"atime", MS_NOATIME, false},
    NamedFlag{"nodiratime", MS_NODIRATIME, true},
    NamedFlag{"diratime", MS_NODIRATIME, false},
    NamedFlag{"relatime", MS_RELATIME, true},
    NamedFlag{"norelatime", MS_RELATIME, false},
    NamedFlag{"strictatime", MS_STRICTATIME, true},
    NamedFlag{"nostrictatime", MS_STRICTATIME, false},
    NamedFlag{"silent", MS_SILENT, true},
    NamedFlag{"loud", MS_SILENT, false},
    NamedFlag{"defaults", 0, true},
};
constexpr std::array<std::string_view, 4> private_ones = {"private", "rprivate", "unbindable", "runbindable"};
constexpr std::array<std::string_view, 4> shared_ones = {"shared", "rshared", "slave", "rslave"};
// Of mount_setattr(2), and of mapped owners.
constexpr std::array<std::string_view, 14> refused = {
    "rro",   "rrw",      "rnosuid",      "rsuid",        "rnodev",     "rdev",  "rnoexec",
    "rexec", "rnoatime", "rstrictatime", "rnosymfollow", "rsymfollow", "idmap", "ridmap"};

} // namespace

MountOptions parse_mount_options(const nlohmann::json& mount) {
    MountOptions parsed;
    const auto is_in = [](const auto& list, const std::string& name) {
        return std::ranges::find(list, name) != list.end();
    };
    for (const std::string option : mount.value("options", nlohmann::json::array())) {
        const auto* const flag = std::ranges::find(named_flags, option, &NamedFlag::name);
        if (flag != named_flags.end()) {
            parsed.flags = flag->is_set ? parsed.flags | flag->flag : parsed.flags & ~flag->flag;
        } else if (option == "bind" || option == "rbind") {
            parsed.is_bind = true;
        } else if (option == "tmpcopyup") {
            parsed.copies_up = true;
        } else if (is_in(shared_ones, option)) {
            parsed.unshared.push_back(option);
        } else if (is_in(refused, option)) {
            throw InputError("config.json: the mount at " + mount.at("destination").get<std::string>() +
                             ": its option '" + option + "' is not supported");
        } else if (!is_in(private_ones, option)) {
            parsed.data += (parsed.data.empty() ? "" : ",") + option;
        }
    }
    return parsed;
}

} // namespace previrt::oci
