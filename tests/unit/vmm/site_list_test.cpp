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

TEST(SiteList, ForgetsWhatHasAByteInARange) {
    constexpr std::size_t count = 10;
    // Sites of 8 bytes with 8 between.
    const auto fill = [&] {
        ASSERT_TRUE(start_site_list(count));
        for (std::uint64_t i = 0; i < count; ++i) {
            SiteRecord record{};
            record.lengths = 7 << 4U | 1;
            ASSERT_TRUE(add_site({.address = 0x1000 + (i * 16), .record = record, .bytes = {}}));
        }
    };
    for (std::uint64_t begin = 0xff0; begin < 0x10b0; ++begin) {
        for (std::uint64_t end = begin; end < 0x10b0; end += 3) {
            fill();
            const auto lies_in = [&](std::uint64_t site) {
                return site < end && site + 8 > begin && begin < end;
            };
            bool any = false;
            for (std::uint64_t i = 0; i < count; ++i) {
                any = any || lies_in(0x1000 + (i * 16));
            }
            EXPECT_EQ(has_sites(begin, end), any) << begin << ' ' << end;
            forget_sites(begin, end);
            for (std::uint64_t i = 0; i < count; ++i) {
                const std::uint64_t site = 0x1000 + (i * 16);
                ASSERT_EQ(find_site(site) == nullptr, lies_in(site)) << begin << ' ' << end << ' ' << site;
            }
        }
    }
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
