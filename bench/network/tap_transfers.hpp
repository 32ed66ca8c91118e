// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "bench/network/transfers.hpp"
#include "host/program.hpp"

#include <vector>

namespace previrt {

// One run of a place that has bench/guest/net.sh, while `server` answers so many transfers. Processors are
// used by all processes of the place. Throws InputError with the reason where that does not work.
std::vector<NetworkTransfer> measure_transfers(const Program& program, const Program& server,
                                               std::size_t transfers);

} // namespace previrt
