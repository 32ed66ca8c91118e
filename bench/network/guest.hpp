// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "bench/measured_place.hpp"

#include <string>
#include <utility>
#include <vector>

namespace previrt {

constexpr const char* network_peer = "10.82.86.1"; // the peer's address

// An initrd that runs bench/guest/net.sh, with more files: {path in the guest, file}. Throws InputError.
std::string network_initrd(const std::string& name, std::vector<std::pair<std::string, std::string>> more);
// The transfers that it knows.
const std::vector<std::string>& network_transfers();

struct NetworkTraffic {
    std::vector<std::string> transfers = network_transfers();
    unsigned mtu = 1500;
};
// Settings of the guest.
Settings network_settings(unsigned mebibytes, const NetworkTraffic& traffic);

} // namespace previrt
