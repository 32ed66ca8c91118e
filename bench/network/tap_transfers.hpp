// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "bench/network/transfers.hpp"
#include "host/program.hpp"

#include <vector>

namespace previrt {

// One run of a place with bench/guest/net.sh, while `server` answers this many transfers. Processor time is
// that of all processes of the place. Throws InputError with the reason if that fails.
std::vector<NetworkTransfer> measure_transfers(const Program& program, const Program& server,
                                               std::size_t transfers);

} // namespace previrt
