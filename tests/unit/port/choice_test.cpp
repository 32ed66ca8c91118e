// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/port/choice.hpp"

#include "host/input_error.hpp"

#include <gtest/gtest.h>

namespace previrt {
namespace {

std::vector<PortChoice> parse(std::vector<std::string> ports) {
    RunOptions options;
    options.ports = std::move(ports);
    return parse_ports(options);
}

std::string refusal(std::vector<std::string> ports) {
    try {
        parse(std::move(ports));
    } catch (const InputError& error) {
        return error.what();
    }
    return "(accepted)";
}

TEST(PortChoice, PortsHaveNumbersInTheirOrder) {
    const std::vector<PortChoice> ports = parse({"0:1:first", ":2", "1::with:colon", "::nothing"});
    ASSERT_EQ(ports.size(), 4U);
    EXPECT_EQ(ports[0].number, 1U);
    EXPECT_EQ(ports[0].name, "first");
    EXPECT_EQ(ports[0].input, 0);
    EXPECT_EQ(ports[0].output, 1);
    EXPECT_EQ(ports[1].number, 0U); // the console
    EXPECT_EQ(ports[1].input, -1);
    EXPECT_EQ(ports[1].output, 2);
    EXPECT_EQ(ports[2].number, 2U);
    EXPECT_EQ(ports[2].name, "with:colon");
    EXPECT_EQ(ports[2].output, -1);
    EXPECT_EQ(ports[3].number, 3U);
}

TEST(PortChoice, RefusalsNameTheOption) {
    EXPECT_EQ(refusal({"x"}), "--port x: it is IN:OUT:NAME, or IN:OUT for a console");
    EXPECT_EQ(refusal({"999999:1"}), "--port 999999:1: '999999' is no number of an open descriptor");
    EXPECT_EQ(refusal({"0:-1:a"}), "--port 0:-1:a: '-1' is no number of an open descriptor");
    EXPECT_EQ(refusal({"0:1x:a"}), "--port 0:1x:a: '1x' is no number of an open descriptor");
    EXPECT_EQ(refusal({"0:1:"}), "--port 0:1:: a name has 1 to 32 bytes");
    EXPECT_EQ(refusal({"0:1:" + std::string(32, 'a')}), "(accepted)");
    EXPECT_NE(refusal({"0:1:" + std::string(33, 'a')}).find("1 to 32 bytes"), std::string::npos);
    EXPECT_EQ(refusal({"0:1", "0:1"}), "--port 0:1: there is another console");
    EXPECT_EQ(refusal({"0:1:a", "0:1:a"}), "--port 0:1:a: there is another one of this name");
    EXPECT_EQ(refusal({"::1", "::2", "::3", "::4", "::5", "::6", "0:1"}), "(accepted)");
    EXPECT_EQ(refusal({"::1", "::2", "::3", "::4", "::5", "::6", "::7"}),
              "--port ::7: a guest has 6 ports with names at most, and a console");
}

} // namespace
} // namespace previrt
