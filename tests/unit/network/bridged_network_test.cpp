// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/qemu/bridged_network.hpp"

#include "host/input_error.hpp"

#include <fstream>
#include <gtest/gtest.h>

namespace previrt {

namespace {

using Words = std::vector<std::string>;

bool refuses(const NetworkChoice& choice) {
    try {
        check_bridged_network(choice, "xen-domu");
        return false;
    } catch (const InputError&) {
        return true;
    }
}

Words card_of(const char* net) {
    MachineOptions machine;
    add_bridged_card(machine, parse_network(net));
    return machine.qemu;
}

TEST(BridgedNetwork, OfAUserForwardsPortsToTheGuest) {
    const char* const net = "user,tcp=8080:80,udp=0.0.0.0:53:5353,mac=52:54:00:ab:cd:ef";
    const NetworkChoice choice = parse_network(net);
    EXPECT_EQ(card_of(net), (Words{"-netdev",
                                   "user,id=network,ipv6=off,hostfwd=tcp:127.0.0.1:8080-10.0.2.15:80,"
                                   "hostfwd=udp:0.0.0.0:53-10.0.2.15:5353",
                                   "-device", "e1000,netdev=network,romfile=,mac=5a:54:00:ab:cd:ef"}));
    EXPECT_EQ(xen_vif(choice), "mac=52:54:00:ab:cd:ef,script=vif-guest");
    EXPECT_EQ(net_in_bridge(choice), "tap=guest,mac=52:54:00:ab:cd:ef");
}

TEST(BridgedNetwork, OfATapThatCannotBeOpenedIsRefused) {
    EXPECT_THROW(card_of("tap=no/name"), InputError);
}

TEST(BridgedNetwork, OfNoneIsNone) {
    EXPECT_TRUE(card_of("none").empty());
    EXPECT_EQ(xen_vif(parse_network("none")), "");
    EXPECT_EQ(net_in_bridge(parse_network("none")), "none");
}

TEST(BridgedNetwork, HasNeitherSwitchNorLargeFrames) {
    EXPECT_THROW(check_bridged_network(parse_network("switch=socket"), "xen-domu"), InputError);
    EXPECT_THROW(check_bridged_network(parse_network("interface=eth0"), "xen-domu"), InputError);
    EXPECT_THROW(check_bridged_network(parse_network("user,mtu=9000"), "xen-domu"), InputError);
    EXPECT_NO_THROW(check_bridged_network(parse_network("user,host-loopback,mtu=1500"), "xen-domu"));
}

// QEMU is never root.
TEST(BridgedNetwork, HasNoneOfRootsPorts) {
    unsigned first_common = 0;
    std::ifstream("/proc/sys/net/ipv4/ip_unprivileged_port_start") >> first_common;
    const NetworkChoice first = parse_network("user,host-loopback,tcp=1:22");
    EXPECT_EQ(first_common > 1, refuses(first)); // a container's first may be 0
    EXPECT_NO_THROW(check_bridged_network(parse_network("user,host-loopback,tcp=65000:22"), "xen-domu"));
}

// It has no user network that leaves this machine's loopback out.
TEST(BridgedNetwork, ReachesTheLoopbackOnlyWhereAsked) {
    EXPECT_THROW(check_bridged_network(parse_network("user"), "xen-domu"), InputError);
    EXPECT_THROW(check_network_of_qemu(parse_network("user"), "bare"), InputError);
    EXPECT_NO_THROW(check_network_of_qemu(parse_network("user,host-loopback"), "bare"));
    EXPECT_NO_THROW(check_network_of_qemu(parse_network("tap=tap0"), "bare"));
}

} // namespace

} // namespace previrt
