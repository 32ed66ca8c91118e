// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/run/bridged_network.hpp"

#include "toolchain/image/input_error.hpp"

#include <gtest/gtest.h>

namespace previrt {

namespace {

using Words = std::vector<std::string>;

TEST(BridgedNetwork, OfAUserForwardsPortsToTheGuest) {
    const NetworkChoice choice = parse_network("user,tcp=8080:80,udp=0.0.0.0:53:5353,mac=52:54:00:ab:cd:ef");
    EXPECT_EQ(bridged_network_arguments(choice),
              (Words{"-netdev",
                     "user,id=network,ipv6=off,hostfwd=tcp:127.0.0.1:8080-10.0.2.15:80,"
                     "hostfwd=udp:0.0.0.0:53-10.0.2.15:5353",
                     "-device", "e1000,netdev=network,romfile=,mac=5a:54:00:ab:cd:ef"}));
    EXPECT_EQ(xen_vif(choice), "mac=52:54:00:ab:cd:ef,script=vif-guest");
    EXPECT_EQ(net_in_bridge(choice), "tap=guest,mac=52:54:00:ab:cd:ef");
}

TEST(BridgedNetwork, OfATapIsTheTap) {
    const Words words = bridged_network_arguments(parse_network("tap=tap7"));
    ASSERT_EQ(words.size(), 4U);
    EXPECT_EQ(words[1], "tap,id=network,ifname=tap7,script=no,downscript=no");
}

TEST(BridgedNetwork, OfNoneIsNone) {
    EXPECT_TRUE(bridged_network_arguments(parse_network("none")).empty());
    EXPECT_EQ(xen_vif(parse_network("none")), "");
    EXPECT_EQ(net_in_bridge(parse_network("none")), "none");
}

TEST(BridgedNetwork, HasNeitherSwitchNorLargeFrames) {
    EXPECT_THROW(check_bridged_network(parse_network("switch=socket"), "xen-domu"), InputError);
    EXPECT_THROW(check_bridged_network(parse_network("user,mtu=9000"), "xen-domu"), InputError);
    EXPECT_NO_THROW(check_bridged_network(parse_network("user,host-loopback,mtu=1500"), "xen-domu"));
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
