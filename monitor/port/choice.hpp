// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/options.hpp"

#include <string>
#include <vector>

namespace previrt {

// A port of the guest's console device, and the descriptors of this process behind it.
struct PortChoice {
    unsigned number;  // 0: the console
    std::string name; // by which the guest knows it; a console has none
    int input;        // -1: none
    int output;       // -1: none, and the guest's bytes are lost
};

// Those of --port. Throws InputError.
std::vector<PortChoice> parse_ports(const RunOptions& options);

} // namespace previrt
