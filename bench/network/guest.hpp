// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "bench/measured_place.hpp"

#include <string>
#include <utility>
#include <vector>

namespace previrt {

constexpr const char* network_peer = "10.82.86.1"; // who answers the guest

// An initrd that runs bench/guest/net.sh, with more files: {place in the guest, file}. Throws InputError.
std::string network_initrd(const std::string& name, std::vector<std::pair<std::string, std::string>> more);
// All that it can make.
const std::vector<std::string>& network_transfers();

struct NetworkTraffic {
    std::vector<std::string> transfers = network_transfers();
    unsigned mtu = 1500;
};
// What it is told.
Settings network_settings(unsigned mebibytes, const NetworkTraffic& traffic);

} // namespace previrt
