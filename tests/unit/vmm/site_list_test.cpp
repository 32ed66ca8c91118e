// SPDX-License-Identifier: BSD-2-Clause
#include "inplace-vmm/site_list.hpp"

#include <gtest/gtest.h>
#include <map>
#include <random>

namespace previrt {

namespace {

TEST(SiteList, KeepsOrderAndFindsWhatWasAdded) {
    constexpr std::size_t room = 500;
    std::vector<KnownSite> memory(room);
    start_site_list(memory.data(), room);
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
    start_site_list(memory.data(), room);
    EXPECT_TRUE(known_sites().empty());
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
