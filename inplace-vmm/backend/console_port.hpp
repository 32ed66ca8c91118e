// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt::backend {

constexpr unsigned most_console_ports = 7;
constexpr unsigned most_port_name_bytes = 32;

// A port of the guest's console device, which leads to the host. The first is its console, and has no name.
struct ConsolePort {
    char name[most_port_name_bytes];
    std::uint32_t name_bytes;
    bool exists;
};

} // namespace previrt::backend
