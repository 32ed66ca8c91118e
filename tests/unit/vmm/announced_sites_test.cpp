// SPDX-License-Identifier: BSD-2-Clause
// What a guest's kernel announces of a module: taken as a whole or refused, and forgotten when the module
// goes.
#include "frontends/x86/sites/module_sites.hpp"

#include "inplace-vmm/backend/memory.hpp"
#include "tests/unit/vmm/load_package.hpp"
#include "tests/unit/vmm/make_package.hpp"

#include <gtest/gtest.h>

namespace previrt {

namespace {

constexpr std::uint64_t note_at = 0x17f000;
constexpr std::uint64_t table_at = 0x180000;
constexpr std::uint64_t code_at = 0x181000;
constexpr std::size_t site_bytes = 8;

const std::vector<std::uint8_t> cli{0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0xfa};
const std::vector<std::uint8_t> iret{0x48, 0xcf, 0xcc, 0xcc, 0xcc, 0x90, 0x90, 0x90};

std::uint8_t* memory(std::uint64_t address) {
    return backend::guest_ram() + address;
}

class ModuleAnnouncement : public testing::Test {
protected:
    ModuleAnnouncement() {
        const auto stop = load_package(make_tiny_package());
        EXPECT_FALSE(stop) << *stop;
        kernel_sites_ = known_sites().size();
        put_note(abi_version);
    }

    static void put_note(std::uint32_t version) {
        const std::uint32_t words[] = {8, 8, 1, 0, 0, version, sizeof(SiteRecord)};
        std::memcpy(memory(note_at), words, sizeof(words));
        std::memcpy(memory(note_at + 12), "previrt", 8);
    }

    // The next record, of the site of that number.
    void put(std::size_t site, SiteKind kind = SiteKind::cli) {
        const bool is_iret = kind == SiteKind::iret;
        const std::uint64_t place = table_at + (records_ * sizeof(SiteRecord));
        const SiteRecord record{.site = static_cast<std::int32_t>(code_at + (site * site_bytes) - place),
                                .kind = static_cast<std::uint8_t>(kind),
                                .form = encode_form(Shape::implicit, is_iret ? 8 : 0, false),
                                .operand = 0,
                                .lengths = static_cast<std::uint8_t>(is_iret ? 3 << 4 | 2 : 7 << 4 | 1)};
        std::memcpy(memory(place), &record, sizeof(record));
        const std::vector<std::uint8_t>& code = is_iret ? iret : cli;
        std::memcpy(memory(code_at + (site * site_bytes)), code.data(), code.size());
        ++records_;
    }

    [[nodiscard]] Refusal announce(std::uint64_t note_bytes = announced_note_bytes) const {
        return take_announced_module({.table = table_at,
                                      .table_bytes = records_ * sizeof(SiteRecord),
                                      .note = note_at,
                                      .note_bytes = note_bytes});
    }

    [[nodiscard]] static std::vector<std::uint8_t> code_of(std::size_t site) {
        const std::uint8_t* const code = memory(code_at + (site * site_bytes));
        return {code, code + site_bytes};
    }

    void expect_refused(Refusal refusal, std::uint64_t note_bytes = announced_note_bytes) const {
        EXPECT_EQ(announce(note_bytes), refusal);
        EXPECT_EQ(known_sites().size(), kernel_sites_);
        EXPECT_EQ(code_of(0), cli);
    }

    std::size_t kernel_sites_ = 0;
    std::size_t records_ = 0;
};

TEST_F(ModuleAnnouncement, APreparedOneIsRewritten) {
    put(0);
    put(1, SiteKind::iret);
    EXPECT_EQ(announce(), Refusal::none);
    EXPECT_EQ(known_sites().size(), kernel_sites_ + 2);
    EXPECT_EQ(code_of(0)[0], 0xc6); // movb
    EXPECT_EQ(code_of(1)[0], 0xe9); // jmp
}

TEST_F(ModuleAnnouncement, OneWithoutSitesNeedsTheNoteAlone) {
    EXPECT_EQ(take_announced_module({.table = 0, .table_bytes = 0, .note = note_at, .note_bytes = 28}),
              Refusal::none);
    EXPECT_EQ(take_announced_module({.table = 0, .table_bytes = 0, .note = 0, .note_bytes = 0}),
              Refusal::not_prepared);
}

TEST_F(ModuleAnnouncement, TheNoteSaysWhichVersionsRecordsItHas) {
    put(0);
    expect_refused(Refusal::not_prepared, 0);
    expect_refused(Refusal::bad_records, announced_note_bytes - 1);
    expect_refused(Refusal::bad_records, announced_note_bytes * 2);
    put_note(abi_version + 1);
    expect_refused(Refusal::other_version);
    put_note(abi_version);
    for (const std::size_t byte : {0U, 4U, 8U, 12U, 19U}) {
        ++*memory(note_at + byte);
        expect_refused(Refusal::bad_records);
        --*memory(note_at + byte);
    }
    *memory(note_at + 24) = sizeof(SiteRecord) + 1;
    expect_refused(Refusal::other_version);
}

TEST_F(ModuleAnnouncement, ABadRecordLeavesAllAsItWas) {
    put(0);
    put(1);
    memory(table_at + sizeof(SiteRecord))[4] = static_cast<std::uint8_t>(SiteKind::sti);
    expect_refused(Refusal::bad_records);
    memory(table_at + sizeof(SiteRecord))[3] = 0x40; // far away
    expect_refused(Refusal::bad_records);
}

TEST_F(ModuleAnnouncement, ASiteNamedTwiceIsRefused) {
    put(0);
    put(1);
    put(0);
    expect_refused(Refusal::bad_records);
}

TEST_F(ModuleAnnouncement, ASiteOverOneThatIsKnownIsRefused) {
    put(1);
    ASSERT_EQ(announce(), Refusal::none);
    records_ = 0;
    put(0);
    put(1);
    EXPECT_EQ(announce(), Refusal::bad_records);
    EXPECT_EQ(known_sites().size(), kernel_sites_ + 1);
    EXPECT_EQ(code_of(0), cli);
}

TEST_F(ModuleAnnouncement, TooManySitesAreRefusedAndForgotten) {
    constexpr std::size_t many = 1000;
    constexpr std::size_t behind_table = 1024;
    while (records_ < many) {
        put(behind_table + records_);
    }
    ASSERT_TRUE(start_site_list(many - 1));
    fake::host.most_sites = 0; // there is no more memory for them
    EXPECT_EQ(announce(), Refusal::no_room);
    EXPECT_TRUE(known_sites().empty());
    EXPECT_EQ(code_of(behind_table), cli);
    fake::host.most_sites = many * 4;
    EXPECT_EQ(announce(), Refusal::none);
}

TEST_F(ModuleAnnouncement, AnotherMayLieWhereOneWas) {
    put(0);
    put(1, SiteKind::iret);
    ASSERT_EQ(announce(), Refusal::none);
    forget_announced_sites(code_at, 2 * site_bytes);
    EXPECT_EQ(known_sites().size(), kernel_sites_);
    EXPECT_EQ(find_site(code_at), nullptr);
    records_ = 0;
    put(0, SiteKind::iret);
    put(1);
    EXPECT_EQ(announce(), Refusal::none);
    EXPECT_EQ(code_of(0)[0], 0xe9);
    EXPECT_EQ(code_of(1)[0], 0xc6);
    EXPECT_EQ(find_site(code_at)->kind(), SiteKind::iret);
}

TEST_F(ModuleAnnouncement, WhatIsForgottenMayBeAnything) {
    put(0);
    ASSERT_EQ(announce(), Refusal::none);
    forget_announced_sites(0, 0);
    forget_announced_sites(code_at + site_bytes, 0x1000);
    EXPECT_EQ(known_sites().size(), kernel_sites_ + 1);
    forget_announced_sites(code_at, ~std::uint64_t{0});
    EXPECT_TRUE(known_sites().empty());
}

} // namespace

} // namespace previrt
