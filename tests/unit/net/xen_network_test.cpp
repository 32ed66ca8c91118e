// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/run/xen_network.hpp"

#include "toolchain/image/input_error.hpp"

#include <gtest/gtest.h>

namespace previrt {

namespace {

using Words = std::vector<std::string>;

TEST(XenNetwork, OfAUserForwardsPortsToTheGuest) {
    const NetworkChoice choice = parse_network("user,tcp=8080:80,udp=0.0.0.0:53:5353,mac=52:54:00:ab:cd:ef");
    EXPECT_EQ(xen_network_arguments(choice),
              (Words{"-netdev",
                     "user,id=network,ipv6=off,hostfwd=tcp:127.0.0.1:8080-10.0.2.15:80,"
                     "hostfwd=udp:0.0.0.0:53-10.0.2.15:5353",
                     "-device", "e1000,netdev=network,romfile=,mac=5a:54:00:ab:cd:ef"}));
    EXPECT_EQ(xen_vif(choice), "mac=52:54:00:ab:cd:ef,script=vif-guest");
}

TEST(XenNetwork, OfATapIsTheTap) {
    const Words words = xen_network_arguments(parse_network("tap=tap7"));
    ASSERT_EQ(words.size(), 4U);
    EXPECT_EQ(words[1], "tap,id=network,ifname=tap7,script=no,downscript=no");
}

TEST(XenNetwork, OfNoneIsNone) {
    EXPECT_TRUE(xen_network_arguments(parse_network("none")).empty());
    EXPECT_EQ(xen_vif(parse_network("none")), "");
}

TEST(XenNetwork, HasNeitherSwitchNorLargeFrames) {
    EXPECT_THROW(check_xen_network(parse_network("switch=socket")), InputError);
    EXPECT_THROW(check_xen_network(parse_network("user,mtu=9000")), InputError);
    EXPECT_NO_THROW(check_xen_network(parse_network("user,mtu=1500")));
}

} // namespace

} // namespace previrt
