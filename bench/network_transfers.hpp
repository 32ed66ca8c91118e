// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "toolchain/host/program.hpp"

#include <string>
#include <vector>

namespace previrt {

struct NetworkTransfer {
    std::string name;         // as bench/guest/net.sh calls it
    double amount;            // bytes or datagrams that have arrived
    double seconds;           // by the receiver's clock
    double processor_seconds; // of all processes of the place
};

// One run of a place that has bench/guest/net.sh, while `server` answers it. Throws InputError with the
// reason where that does not work.
std::vector<NetworkTransfer> measure_transfers(const Program& program, const Program& server);

} // namespace previrt
