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

void require(bool done, const char* call) {
    if (!done) {
        throw InputError(std::string(call) + ": " + std::generic_category().message(errno));
    }
}

} // namespace

OwnSocket connect_to_own_socket() {
    const TemporaryDirectory directory;
    const std::string path = directory.path() + "/socket";
    OwnSocket ends{.listening = Descriptor(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0)),
                   .connection = Descriptor(socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0))};
    require(ends.listening.number() >= 0 && ends.connection.number() >= 0, "socket");
    sockaddr_un name{};
    name.sun_family = AF_UNIX;
    if (path.size() >= sizeof name.sun_path) {
        throw InputError(path + ": the name is too long for a socket; set TMPDIR to a shorter one");
    }
    path.copy(name.sun_path, path.size());
    const auto* const address = reinterpret_cast<const sockaddr*>(&name);
    require(bind(ends.listening.number(), address, sizeof name) == 0, "bind");
    require(listen(ends.listening.number(), 1) == 0, "listen");
    require(connect(ends.connection.number(), address, sizeof name) == 0, "connect");
    return ends;
}

} // namespace previrt
