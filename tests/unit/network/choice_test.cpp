// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/network/choice.hpp"

#include "host/input_error.hpp"

#include <gtest/gtest.h>

namespace previrt {

namespace {

TEST(NetworkChoice, Kinds) {
    EXPECT_EQ(parse_network("none").kind, NetworkKind::none);
    const NetworkChoice user = parse_network("user");
    EXPECT_EQ(user.kind, NetworkKind::user);
    EXPECT_EQ(user.mac, (MacAddress{0x52, 0x54, 0, 0x12, 0x34, 0x56}));
    EXPECT_EQ(user.mtu, 1500U);
    EXPECT_FALSE(user.host_loopback);
    EXPECT_TRUE(parse_network("user,mtu=9000,host-loopback,tcp=1:2").host_loopback);
    const NetworkChoice tap = parse_network("tap=tap0");
    EXPECT_EQ(tap.kind, NetworkKind::tap);
    EXPECT_EQ(tap.name, "tap0");
    const NetworkChoice by_switch = parse_network("switch=/run/a=b,mac=02:00:5e:aB:cd:ef");
    EXPECT_EQ(by_switch.kind, NetworkKind::by_switch);
    EXPECT_EQ(by_switch.name, "/run/a=b");
    EXPECT_EQ(by_switch.mac, (MacAddress{2, 0, 0x5e, 0xab, 0xcd, 0xef}));
}

TEST(NetworkChoice, Forwards) {
    const NetworkChoice choice = parse_network("user,tcp=8080:80,mtu=1400,udp=0.0.0.0:5353:53,tcp=1:65535");
    EXPECT_EQ(choice.mtu, 1400U);
    ASSERT_EQ(choice.forwards.size(), 3U);
    EXPECT_FALSE(choice.forwards[0].udp);
    EXPECT_EQ(choice.forwards[0].host_address, "127.0.0.1");
    EXPECT_EQ(choice.forwards[0].host_port, 8080);
    EXPECT_EQ(choice.forwards[0].guest_port, 80);
    EXPECT_TRUE(choice.forwards[1].udp);
    EXPECT_EQ(choice.forwards[1].host_address, "0.0.0.0");
    EXPECT_EQ(choice.forwards[1].host_port, 5353);
    EXPECT_EQ(choice.forwards[1].text, "udp=0.0.0.0:5353:53");
    EXPECT_EQ(choice.forwards[2].guest_port, 65535);
}

TEST(NetworkChoice, GuestsOnALinkDiffer) {
    const MacAddress one = parse_network("tap=tap0").mac;
    const MacAddress other = parse_network("switch=s").mac;
    EXPECT_NE(one, other); // one of 2^24 times they do not
    EXPECT_EQ(one[0], 0x52);
    EXPECT_EQ(one[1], 0x54);
    EXPECT_EQ(one[2], 0);
    EXPECT_NE(one, parse_network("user").mac);
}

// The text, and the part of it that the message names.
using BadCase = std::pair<const char*, const char*>;
class BadNetwork : public testing::TestWithParam<BadCase> {};

TEST_P(BadNetwork, IsNamed) {
    const auto [text, part] = GetParam();
    try {
        parse_network(text);
        FAIL() << text;
    } catch (const InputError& error) {
        const std::string message = error.what();
        EXPECT_TRUE(message.starts_with(std::string("--net ") + text + ": '" + part + "' is")) << message;
        EXPECT_NE(message.find("switch=SOCKET"), std::string::npos) << message;
        EXPECT_EQ(message.find('\n'), std::string::npos);
    }
}

INSTANTIATE_TEST_SUITE_P(
    All, BadNetwork,
    testing::Values(
        BadCase{"", ""}, BadCase{"usr", "usr"}, BadCase{"user=", "user="}, BadCase{"none=1", "none=1"},
        BadCase{"tap", "tap"}, BadCase{"tap=", "tap="}, BadCase{"switch=", "switch="}, BadCase{"user,", ""},
        BadCase{"user,,mtu=100", ""}, BadCase{"user,host-loopback,host-loopback", "host-loopback"},
        BadCase{"tap=a,host-loopback", "host-loopback"}, BadCase{"user,host-loopback=", "host-loopback="},
        BadCase{"none,mtu=100", "mtu=100"}, BadCase{"user,mtu", "mtu"}, BadCase{"tap=a,mtu=100", "mtu=100"},
        BadCase{"switch=a,mtu=100", "mtu=100"}, BadCase{"user,mtu=67", "mtu=67"},
        BadCase{"user,mtu=9001", "mtu=9001"}, BadCase{"user,mtu=+100", "mtu=+100"},
        BadCase{"user,mtu=100x", "mtu=100x"}, BadCase{"user,mtu=99999999999", "mtu=99999999999"},
        BadCase{"user,mtu=100,mtu=200", "mtu=200"}, BadCase{"tap=a,tcp=1:2", "tcp=1:2"},
        BadCase{"user,mac=52:54:00:12:34", "mac=52:54:00:12:34"},
        BadCase{"user,mac=52:54:00:12:34:5", "mac=52:54:00:12:34:5"},
        BadCase{"user,mac=52:54:00:12:34:5g", "mac=52:54:00:12:34:5g"},
        BadCase{"user,mac=53:54:00:12:34:56", "mac=53:54:00:12:34:56"}, // a group's
        BadCase{"user,mac=00:00:00:00:00:00", "mac=00:00:00:00:00:00"},
        BadCase{"user,mac=52:54:0:012:34:56", "mac=52:54:0:012:34:56"}, BadCase{"user,tcp=80", "tcp=80"},
        BadCase{"user,tcp=", "tcp="}, BadCase{"user,tcp=:", "tcp=:"}, BadCase{"user,tcp=0:80", "tcp=0:80"},
        BadCase{"user,tcp=80:65536", "tcp=80:65536"}, BadCase{"user,tcp=1:2:", "tcp=1:2:"},
        BadCase{"user,tcp=:1:2", "tcp=:1:2"}, BadCase{"user,tcp=1.2.3:1:2", "tcp=1.2.3:1:2"},
        BadCase{"user,udp=h:1:2", "udp=h:1:2"}, BadCase{"user,tcp=127.0.0.1:1:2:3", "tcp=127.0.0.1:1:2:3"}));

} // namespace

} // namespace previrt
