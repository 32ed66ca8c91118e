// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"

#include <string>

namespace previrt {

// A socket that listens, and the only connection that it will ever get: it has no name any more, and no other
// user could reach it meanwhile.
struct OwnSocket {
    Descriptor listening;
    Descriptor connection;
};

// For a program that takes the first connection of a socket. Throws InputError.
OwnSocket connect_to_own_socket();

// To a server's socket, which has this path. Throws InputError.
Descriptor connect_to_socket(const std::string& path);

} // namespace previrt
