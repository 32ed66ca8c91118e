// SPDX-License-Identifier: BSD-2-Clause
#include "inplace-vmm/site_list.hpp"

#include "tests/unit/vmm/fake_backend.hpp"

#include <algorithm>
#include <gtest/gtest.h>
#include <map>
#include <random>

namespace previrt {

namespace {

TEST(SiteList, KeepsOrderAndFindsWhatWasAdded) {
    constexpr std::size_t room = 500; // of 1000 addresses
    fake::start(std::uint64_t{1} << 20U, 8);
    fake::host.most_sites = room;
    ASSERT_TRUE(start_site_list(room));
    EXPECT_EQ(find_site(0), nullptr);
    std::map<std::uint64_t, std::uint8_t> expected;
    std::mt19937_64 random(1);
    for (unsigned i = 0; i < 4000; ++i) {
        const std::uint64_t address = 0xffffffff81000000 + (random() % 1000);
        const auto kind = static_cast<std::uint8_t>(random());
        const bool fits = expected.size() < room || expected.contains(address);
        SiteRecord record{};
        record.kind = kind;
        ASSERT_EQ(add_site({.address = address, .record = record, .bytes = {}}), fits);
        if (fits) {
            expected[address] = kind;
        }
    }
    ASSERT_EQ(expected.size(), room);
    ASSERT_EQ(known_sites().size(), room);
    auto next = expected.begin();
    for (const KnownSite& site : known_sites()) {
        EXPECT_EQ(site.address, next->first);
        EXPECT_EQ(site.record.kind, next->second);
        ++next;
    }
    for (std::uint64_t address = 0xffffffff80ffffff; address <= 0xffffffff81000400; ++address) {
        const KnownSite* const found = find_site(address);
        EXPECT_EQ(found != nullptr, expected.contains(address));
        EXPECT_TRUE(found == nullptr || found->address == address);
    }
    ASSERT_TRUE(start_site_list(room));
    EXPECT_TRUE(known_sites().empty());
    EXPECT_FALSE(start_site_list(room + 1));
}

TEST(SiteList, GrowsToTheMemoryThatTheBackEndHas) {
    constexpr std::size_t count = 100'000;
    fake::start(std::uint64_t{1} << 20U, 8);
    ASSERT_TRUE(start_site_list(10));
    for (std::size_t i = 0; i < count; ++i) {
        // Few lie between others.
        const std::uint64_t address =
            0xffffffff81000000 + (8 * (i % 1000 != 999 ? i : i - 500)) + (i % 1000 != 999 ? 0 : 4);
        ASSERT_TRUE(add_site({.address = address, .record = {}, .bytes = {}})) << i;
        const KnownSite* const found = find_site(address);
        ASSERT_NE(found, nullptr);
        ASSERT_EQ(found->address, address);
    }
    EXPECT_EQ(known_sites().size(), count);
    EXPECT_TRUE(std::ranges::is_sorted(known_sites(), {}, &KnownSite::address));
}

TEST(SiteList, PaddingStandsWhereTheListOfKindsSays) {
    for (const SiteKindInfo& info : site_kinds) {
        SCOPED_TRACE(info.name);
        KnownSite site{};
        site.address = 100;
        site.record.kind = static_cast<std::uint8_t>(info.kind);
        site.record.lengths = 4 << 4U | 2;
        EXPECT_EQ(site.padding_in_front(), info.padding == Padding::front ? 4U : 0U);
        EXPECT_EQ(site.instruction().data(), site.bytes + site.padding_in_front());
        EXPECT_EQ(site.instruction().size(), 2U);
        EXPECT_EQ(site.end(), 106U);
    }
}

} // namespace

} // namespace previrt
