// SPDX-License-Identifier: BSD-2-Clause
#include "bench/network/guest.hpp"

#include "guest/userland/initrd.hpp"
#include "host/tree.hpp"

namespace previrt {

namespace {

constexpr const char* guest_address = "10.82.86.2";
constexpr unsigned datagrams_a_mebibyte = 10000; // so that a transfer of each takes about as long

} // namespace

std::string network_initrd(const std::string& name, std::vector<std::pair<std::string, std::string>> more) {
    more.emplace_back("/run-me", in_source_tree("bench/guest/net.sh"));
    more.emplace_back("/bin/traffic", PREVIRT_TRAFFIC);
    return make_initrd(name, more);
}

const std::vector<std::string>& network_transfers() {
    static const std::vector<std::string> all = {"send", "receive", "send_datagram", "receive_datagram"};
    return all;
}

Settings network_settings(unsigned mebibytes, const NetworkTraffic& traffic) {
    std::string chosen;
    for (const std::string& name : traffic.transfers) {
        chosen += name + ",";
    }
    return {{"net_own", guest_address},
            {"net_peer", network_peer},
            {"net_bytes", std::to_string(std::uint64_t{mebibytes} << 20U)},
            {"net_datagrams", std::to_string(mebibytes * datagrams_a_mebibyte)},
            {"net_mtu", std::to_string(traffic.mtu)},
            {"net_transfers", chosen}};
}

} // namespace previrt
