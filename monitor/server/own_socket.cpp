// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/server/own_socket.hpp"

#include "host/input_error.hpp"
#include "host/temporary_directory.hpp"

#include <cerrno>
#include <string>
#include <sys/socket.h>
#include <sys/un.h>
#include <system_error>

namespace previrt {

namespace {

void require(bool done, const char* what) {
    if (!done) {
        throw InputError(std::string(what) + ": " + std::generic_category().message(errno));
    }
}

sockaddr_un name_of(const std::string& path) {
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    if (path.size() >= sizeof name.sun_path) {
        throw InputError(path + ": the name is too long for a socket; choose a shorter directory (TMPDIR)");
    }
    path.copy(name.sun_path, path.size());
    return name;
}

Descriptor make_socket() {
    Descriptor made(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    require(made.number() >= 0, "socket");
    return made;
}

} // namespace

Descriptor connect_to_socket(const std::string& path) {
    const sockaddr_un name = name_of(path);
    Descriptor connection = make_socket();
    require(connect(connection.number(), reinterpret_cast<const sockaddr*>(&name), sizeof name) == 0,
            path.c_str());
    return connection;
}

OwnSocket connect_to_own_socket() {
    const TemporaryDirectory directory;
    const std::string path = directory.path() + "/socket";
    const sockaddr_un name = name_of(path);
    OwnSocket ends{.listening = make_socket(), .connection = make_socket()};
    const auto* const address = reinterpret_cast<const sockaddr*>(&name);
    require(bind(ends.listening.number(), address, sizeof name) == 0, "bind");
    require(listen(ends.listening.number(), 1) == 0, "listen");
    require(connect(ends.connection.number(), address, sizeof name) == 0, "connect");
    return ends;
}

} // namespace previrt
