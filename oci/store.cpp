// SPDX-License-Identifier: BSD-2-Clause
#include "oci/store.hpp"

#include "host/input_error.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <filesystem>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <system_error>
#include <unistd.h>

namespace previrt::oci {

namespace {

[[noreturn]] void fail(const std::string& place) {
    throw InputError(place + ": " + std::generic_category().message(errno));
}

// As runc permits.
bool is_name(const std::string& name) {
    constexpr std::string_view others = "_+-.";
    return !name.empty() && name != "." && name != ".." && std::ranges::all_of(name, [&](char character) {
        return (character >= 'a' && character <= 'z') || (character >= 'A' && character <= 'Z') ||
               (character >= '0' && character <= '9') || others.find(character) != std::string_view::npos;
    });
}

void make_own_directory(const std::string& path) {
    constexpr mode_t own = 0700;
    if (mkdir(path.c_str(), own) != 0) {
        fail(path);
    }
}

struct SocketAt {
    Descriptor directory;
    sockaddr_un address{};
};

SocketAt socket_at(const std::string& directory) {
    SocketAt made{.directory = Descriptor(open(directory.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC))};
    if (made.directory.number() < 0) {
        fail(directory);
    }
    made.address.sun_family = AF_UNIX;
    const std::string path = "/proc/self/fd/" + std::to_string(made.directory.number()) + "/sessions";
    path.copy(made.address.sun_path, path.size());
    return made;
}

} // namespace

ContainerStore::ContainerStore(const std::string& root, const std::string& name)
    : name_(name), path_(root + "/containers/" + name) {
    if (!is_name(name)) {
        throw InputError("'" + name +
                         "': the name of a container has letters, digits, and any of _ + - . only");
    }
}

bool ContainerStore::exists() const {
    return std::filesystem::exists(path_);
}

void ContainerStore::make() const {
    std::filesystem::create_directories(std::filesystem::path(path_).parent_path());
    if (exists()) {
        throw InputError("container with id exists: " + name_);
    }
    make_own_directory(path_);
    make_own_directory(bundle());
    make_own_directory(files());
}

void ContainerStore::remove() const {
    std::error_code ignored;
    std::filesystem::remove_all(path_, ignored);
}

Descriptor ContainerStore::listen_for_sessions() const {
    constexpr int most_waiting = 64;
    const SocketAt place = socket_at(path_);
    Descriptor listener(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0));
    if (listener.number() < 0 ||
        bind(listener.number(), reinterpret_cast<const sockaddr*>(&place.address), sizeof place.address) !=
            0 ||
        listen(listener.number(), most_waiting) != 0) {
        fail(path_of("sessions"));
    }
    return listener;
}

Descriptor ContainerStore::connect() const {
    const SocketAt place = socket_at(path_);
    Descriptor connection(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    if (connection.number() < 0 ||
        ::connect(connection.number(), reinterpret_cast<const sockaddr*>(&place.address),
                  sizeof place.address) != 0) {
        fail(name_ + ": its guest takes no commands: " + path_of("sessions"));
    }
    return connection;
}

std::string root_of_host_runtime(const std::string& root) {
    return root + "/runtime";
}

} // namespace previrt::oci
