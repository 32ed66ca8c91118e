// SPDX-License-Identifier: BSD-2-Clause
#include "inplace-vmm/counters.hpp"

#include "inplace-vmm/package.hpp"
#include "inplace-vmm/print.hpp"
#include "previrt/site_kinds.hpp"
#include "tests/unit/vmm/fake_backend.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace previrt {

namespace {

nlohmann::json printed_counters() {
    fake::host.console.clear();
    print_counters();
    const std::string prefix = counters_line_prefix;
    EXPECT_TRUE(fake::host.console.starts_with(prefix));
    EXPECT_TRUE(fake::host.console.ends_with("\n"));
    EXPECT_EQ(std::ranges::count(fake::host.console, '\n'), 1);
    return nlohmann::json::parse(fake::host.console.substr(prefix.size()));
}

TEST(CountersLine, IsAnObjectWhenNothingWasCounted) {
    counters = {};
    const nlohmann::json line = printed_counters();
    EXPECT_TRUE(line.at("sites_rewritten").empty());
    EXPECT_TRUE(line.at("exceptions").empty());
    EXPECT_EQ(line.at("hidden_faults"), 0);
}

TEST(CountersLine, HoldsEveryCounter) {
    counters = {};
    std::uint64_t value = ~std::uint64_t{0}; // the longest number
    for (const SiteKindInfo& info : site_kinds) {
        const auto kind = static_cast<std::uint8_t>(info.kind);
        for (std::uint64_t& by_way : counters.rewritten[kind]) {
            by_way = kind;
        }
        counters.calls[kind] = value--;
        counters.trapped_sites[kind] = 1;
    }
    std::ranges::fill(counters.exceptions, 2);
    std::ranges::fill(counters.delivered, 3);
    std::ranges::fill(counters.hypercalls, 4);
    counters.delivered_at_idle = 5;
    counters.system_calls_rewritten = 6;
    counters.packets_sent = 7;
    counters.disk_calls = 12;
    counters.folder_calls = 21;
    counters.packets_received = 8;
    counters.packets_lost = 9;
    counters.packet_calls = 10;
    counters.disk_requests = 11;
    const nlohmann::json line = printed_counters();
    value = ~std::uint64_t{0};
    for (const SiteKindInfo& info : site_kinds) {
        SCOPED_TRACE(info.name);
        for (const char* const way : {"inline", "call", "jump", "trap", "native"}) {
            EXPECT_EQ(line.at("sites_rewritten").at(info.name).at(way), static_cast<std::uint8_t>(info.kind));
        }
        EXPECT_EQ(line.at("site_calls").at(info.name).get<std::uint64_t>(), value--);
        EXPECT_EQ(line.at("sites_trapped").at(info.name), 1);
    }
    EXPECT_EQ(line.at("exceptions").size(), 32U);
    EXPECT_EQ(line.at("delivered").size(), 256U);
    EXPECT_EQ(line.at("delivered").at("255"), 3);
    EXPECT_EQ(line.at("hypercalls").size(), 64U);
    EXPECT_EQ(line.at("delivered_at_idle"), 5);
    EXPECT_EQ(line.at("system_calls_rewritten"), 6);
    EXPECT_EQ(line.at("packets_sent"), 7);
    EXPECT_EQ(line.at("disk_calls"), 12);
    EXPECT_EQ(line.at("folder_calls"), 21);
    EXPECT_EQ(line.at("packets_received"), 8);
    EXPECT_EQ(line.at("packets_lost"), 9);
    EXPECT_EQ(line.at("packet_calls"), 10);
    EXPECT_EQ(line.at("disk_requests"), 11);
}

TEST(Printing, NumbersAndLongText) {
    fake::host.console.clear();
    Print() << std::uint64_t{0} << ' ' << ~std::uint64_t{0} << ' ' << Hex{0} << ' ' << Hex{0xabc, 8} << ' '
            << Hex{~std::uint64_t{0}, 16};
    EXPECT_EQ(fake::host.console, "0 18446744073709551615 0 00000abc ffffffffffffffff");
    const std::string text(1000, 'x');
    fake::host.console.clear();
    Print() << text << "y";
    EXPECT_EQ(fake::host.console, text + "y");
}

} // namespace

} // namespace previrt
