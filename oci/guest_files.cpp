// SPDX-License-Identifier: BSD-2-Clause
#include "oci/guest_files.hpp"

#include "host/input_error.hpp"
#include "oci/guest_devices.hpp"
#include "oci/log.hpp"
#include "oci/mount_options.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <linux/sched.h>
#include <nlohmann/json.hpp>
#include <optional>
#include <sys/mount.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>

namespace previrt::oci {

namespace {

bool is_below(const std::string& path, const std::string& directory) {
    return path == directory || path.starts_with(directory + '/');
}

// `path` must be a plain one: runc has resolved the container's links on this machine, and the guest resolves
// them once more.
std::string destination_of(const nlohmann::json& mount) {
    std::string path = mount.at("destination");
    if (!path.starts_with('/')) {
        path.insert(0, "/");
    }
    while (path.size() > 1 && path.ends_with('/')) {
        path.pop_back();
    }
    return path;
}

void enter_control_group(CallProgram& program) {
    program.mount("cgroup2", "cgroup", "/sys/fs/cgroup", "cgroup2", 0, "", {EBUSY});
    constexpr mode_t mode = 0755;
    program.call(agent::container_group, SYS_mkdir, {program.text(agent::container_group), number(mode)},
                 {EEXIST});
    for (const char* const controller : {"+cpu", "+cpuset", "+memory", "+pids", "+io", "+hugetlb", "+rdma"}) {
        program.write_file("the guest's control groups", "/sys/fs/cgroup/cgroup.subtree_control", controller,
                           {ENOENT});
    }
    program.write_file("the guest's control groups", agent::container_group_processes, "0");
    program.call("a namespace of control groups", SYS_unshare, {number(CLONE_NEWCGROUP)});
}

class Mounts {
public:
    Mounts(CallProgram& program, const nlohmann::json& config, CallArgument terminals)
        : program_(program), config_(config), terminals_(terminals) {}

    void mount_all() {
        for (const nlohmann::json& mount : config_.value("mounts", nlohmann::json::array())) {
            mount_one(mount);
        }
    }

private:
    void mount_one(const nlohmann::json& mount) {
        const std::string place = destination_of(mount);
        const std::string type = mount.value("type", "");
        const MountOptions options = parse_mount_options(mount);
        if (options.is_bind || type == "bind") {
            bind(mount, place, options);
        } else if (type == "tmpfs" && options.copies_up) {
            restrict_machines(place, options.flags); // its files are in the container's on this machine
        } else if (type == "devpts") {
            mount_terminals(place);
        } else if (type == "cgroup" || type == "cgroup2") {
            mount_own(place, "cgroup2", options.flags, "");
        } else if (type == "proc" || type == "sysfs" || type == "tmpfs" || type == "mqueue") {
            // A read-only /dev gets its files first: see finish_devices().
            const bool is_devices = place == "/dev";
            mount_own(place, type,
                      is_devices ? options.flags & ~static_cast<unsigned long>(MS_RDONLY) : options.flags,
                      options.data);
        } // any other is one of this machine's, which runc has mounted
    }

    void mount_own(const std::string& place, const std::string& type, unsigned long flags,
                   const std::string& data) {
        program_.make_directories(place);
        program_.mount("the mount at " + place, type, place, type, flags, data);
    }

    // Of the agent, where the terminals of commands are.
    void mount_terminals(const std::string& place) {
        program_.make_directories(place);
        program_.call("the mount at " + place, SYS_move_mount,
                      {terminals_, program_.text(""), number(static_cast<std::uint64_t>(AT_FDCWD)),
                       program_.text(place), number(MOVE_MOUNT_F_EMPTY_PATH)});
    }

    // A folder of this machine is in the guest's root. A device, and what runc puts in the way of the guest's
    // own file systems, is not.
    void bind(const nlohmann::json& mount, const std::string& place, const MountOptions& options) {
        for (const std::string& option : options.unshared) {
            log_warning("config.json: the mount at " + place + ": its option '" + option +
                        "' has no effect in the guest: mounts do not pass between it and this machine");
        }
        if (place == "/dev/shm") {
            mount_own(place, "tmpfs", options.flags, shared_memory_data(mount));
        } else if (is_below(place, "/dev") || is_below(place, "/proc") || is_below(place, "/sys")) {
            log_warning("config.json: the mount at " + place +
                        ": the guest has a file system of its own there, without this machine's " +
                        mount.value("source", ""));
        } else {
            restrict_machines(place, options.flags);
        }
    }

    // The engine has chosen the size by its own mount.
    static std::string shared_memory_data(const nlohmann::json& mount) {
        struct statvfs found{};
        const std::string source = mount.value("source", "");
        const std::string mode = "mode=1777";
        if (statvfs(source.c_str(), &found) != 0 || found.f_blocks == 0) {
            return mode + ",size=64m";
        }
        return mode + ",size=" + std::to_string(std::uint64_t{found.f_blocks} * found.f_frsize);
    }

    // Read-only is it on this machine; what the guest's kernel may do there, it must be told itself.
    void restrict_machines(const std::string& place, unsigned long flags) {
        constexpr unsigned long restricting = MS_NOSUID | MS_NODEV | MS_NOEXEC | MS_RDONLY;
        if ((flags & restricting) == 0) {
            return;
        }
        const std::string purpose = "the mount at " + place;
        program_.mount(purpose, place, place, "none", MS_BIND);
        program_.mount(purpose, "none", place, "none",
                       MS_BIND | MS_REMOUNT | (flags & (restricting | MS_NOATIME | MS_NODIRATIME)));
    }

    CallProgram& program_;
    const nlohmann::json& config_;
    CallArgument terminals_;
};

// Of the two mounts, one fits a directory and the other any other file.
void mask_paths(CallProgram& program, const nlohmann::json& linux_part) {
    for (const std::string path : linux_part.value("maskedPaths", nlohmann::json::array())) {
        const std::string purpose = "the masked path " + path;
        program.mount(purpose, "/dev/null", path, "none", MS_BIND, "", {ENOENT, ENOTDIR});
        program.mount(purpose, "tmpfs", path, "tmpfs", MS_RDONLY, "", {ENOENT, ENOTDIR});
    }
    for (const std::string path : linux_part.value("readonlyPaths", nlohmann::json::array())) {
        const std::string purpose = "the read-only path " + path;
        constexpr unsigned long kept = MS_NOSUID | MS_NODEV | MS_NOEXEC;
        program.mount(purpose, path, path, "none", MS_BIND | MS_REC, "", {ENOENT});
        program.mount(purpose, "none", path, "none",
                      MS_BIND | MS_REMOUNT | MS_RDONLY | (is_below(path, "/proc") ? kept : 0), "",
                      {ENOENT, EINVAL});
    }
}

void write_settings(CallProgram& program, const nlohmann::json& linux_part) {
    const nlohmann::json settings = linux_part.value("sysctl", nlohmann::json::object());
    for (const auto& [name, value] : settings.items()) {
        std::string path = name;
        // Names of network interfaces may have points, and are then written with slashes.
        if (path.find('/') == std::string::npos) {
            std::ranges::replace(path, '.', '/');
        }
        program.write_file("linux.sysctl: " + name, "/proc/sys/" + path, value.get<std::string>());
    }
}

void set_names(CallProgram& program, const nlohmann::json& config) {
    for (const auto& [field, call] :
         {std::pair("hostname", SYS_sethostname), std::pair("domainname", SYS_setdomainname)}) {
        const std::string name = config.value(field, "");
        if (!name.empty()) {
            program.call(std::string(field) + " " + name, call, {program.text(name), number(name.size())});
        }
    }
}

} // namespace

void enter_container_root(CallProgram& program, const nlohmann::json& config) {
    const nlohmann::json linux_part = config.value("linux", nlohmann::json::object());
    enter_control_group(program);
    const std::uint64_t terminals =
        program.call("the guest's terminals", SYS_open_tree,
                     {number(static_cast<std::uint64_t>(AT_FDCWD)), program.text("/dev/pts"),
                      number(OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC)});
    program.call("the container's root", SYS_chdir, {program.text(agent::container_root)});
    program.mount("the container's root", ".", "/", "none", MS_MOVE);
    program.call("the container's root", SYS_chroot, {program.text(".")});
    program.call("the container's root", SYS_chdir, {program.text("/")});
    program.call("the container's umask", SYS_umask, {number(0)});
    Mounts(program, config, result_of(terminals)).mount_all();
    make_devices(program, config);
    write_settings(program, linux_part);
    set_names(program, config);
    mask_paths(program, linux_part);
    if (config.at("root").value("readonly", false)) {
        program.mount("root.readonly", "none", "/", "none", MS_BIND | MS_REMOUNT | MS_RDONLY);
    }
}

} // namespace previrt::oci
