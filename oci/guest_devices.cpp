// SPDX-License-Identifier: BSD-2-Clause
#include "oci/guest_devices.hpp"

#include "host/input_error.hpp"
#include "oci/log.hpp"
#include "oci/mount_options.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <fcntl.h>
#include <nlohmann/json.hpp>
#include <sys/ioctl.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/sysmacros.h>

namespace previrt::oci {

namespace {

constexpr mode_t for_all = 0666;

struct CharacterDevice {
    const char* path;
    unsigned major;
    unsigned minor;
};
// "Default Devices" of the runtime specification.
constexpr std::array usual_devices = {
    CharacterDevice{"/dev/null", 1, 3},    CharacterDevice{"/dev/zero", 1, 5},
    CharacterDevice{"/dev/full", 1, 7},    CharacterDevice{"/dev/random", 1, 8},
    CharacterDevice{"/dev/urandom", 1, 9}, CharacterDevice{"/dev/tty", 5, 0}};

struct Link {
    const char* target;
    const char* place;
};
constexpr std::array usual_links = {Link{"/proc/self/fd", "/dev/fd"}, Link{"/proc/self/fd/0", "/dev/stdin"},
                                    Link{"/proc/self/fd/1", "/dev/stdout"},
                                    Link{"/proc/self/fd/2", "/dev/stderr"}, Link{"pts/ptmx", "/dev/ptmx"}};

const nlohmann::json* find_mount(const nlohmann::json& config, const std::string& place) {
    const auto mounts = config.find("mounts");
    if (mounts == config.end()) {
        return nullptr;
    }
    const auto found = std::ranges::find_if(*mounts, [&](const nlohmann::json& mount) {
        return mount.at("destination").get<std::string>() == place;
    });
    return found == mounts->end() ? nullptr : &*found;
}

mode_t type_of(const std::string& type, const std::string& path) {
    if (type == "c" || type == "u") {
        return S_IFCHR;
    }
    if (type == "p") {
        return S_IFIFO;
    }
    if (type == "b") {
        return S_IFBLK;
    }
    throw InputError("config.json: linux.devices: " + path + ": type '" + type + "' is none of c, u, b, p");
}

void make_device(CallProgram& program, const nlohmann::json& device) {
    const std::string path = device.at("path");
    const mode_t type = type_of(device.at("type"), path);
    if (type == S_IFBLK) {
        log_warning("config.json: linux.devices: " + path +
                    ": a disk of this machine is none of the guest's: the file opens a device of the "
                    "guest's kernel, if there is one of its numbers");
    }
    const std::string purpose = "linux.devices: " + path;
    const auto parent = path.rfind('/');
    program.make_directories(path.substr(0, parent));
    program.call(purpose, SYS_mknod,
                 {program.text(path), number(type | device.value("fileMode", for_all)),
                  number(makedev(device.value("major", 0U), device.value("minor", 0U)))},
                 {EEXIST});
    program.call(purpose, SYS_chown,
                 {program.text(path), number(device.value("uid", 0U)), number(device.value("gid", 0U))});
}

// It must be opened there: by its old descriptors a program does not find its name.
void enter_terminal(CallProgram& program, bool has_devices) {
    const std::string purpose = "the container's terminal";
    const char* const first = "/dev/pts/0";
    if (has_devices) {
        const std::uint64_t file =
            program.call(purpose, SYS_creat, {program.text("/dev/console"), number(for_all)});
        program.call(purpose, SYS_close, {result_of(file)});
        program.mount(purpose, first, "/dev/console", "none", MS_BIND);
    }
    const std::uint64_t terminal = program.call(purpose, SYS_open, {program.text(first), number(O_RDWR)});
    for (std::uint64_t descriptor = 0; descriptor < 3; ++descriptor) {
        program.call(purpose, SYS_dup2, {result_of(terminal), number(descriptor)});
    }
    program.call(purpose, SYS_close, {result_of(terminal)});
}

} // namespace

void make_devices(CallProgram& program, const nlohmann::json& config) {
    const nlohmann::json* const mount = find_mount(config, "/dev");
    const bool has_devices = mount != nullptr && mount->value("type", "") != "bind";
    if (has_devices) {
        for (const CharacterDevice& device : usual_devices) {
            program.call(device.path, SYS_mknod,
                         {program.text(device.path), number(S_IFCHR | for_all),
                          number(makedev(device.major, device.minor))},
                         {EEXIST});
        }
        for (const Link& link : usual_links) {
            program.call(link.place, SYS_symlink, {program.text(link.target), program.text(link.place)},
                         {EEXIST});
        }
        const nlohmann::json linux_part = config.value("linux", nlohmann::json::object());
        for (const nlohmann::json& device : linux_part.value("devices", nlohmann::json::array())) {
            make_device(program, device);
        }
    }
    if (config.contains("process") && config["process"].value("terminal", false) &&
        find_mount(config, "/dev/pts") != nullptr) {
        enter_terminal(program, has_devices);
    }
    if (has_devices && (parse_mount_options(*mount).flags & MS_RDONLY) != 0) {
        program.mount("/dev", "none", "/dev", "none", MS_BIND | MS_REMOUNT | MS_RDONLY);
    }
}

} // namespace previrt::oci
