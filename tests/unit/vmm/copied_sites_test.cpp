// SPDX-License-Identifier: BSD-2-Clause
// Of the code that a guest's kernel copies and announces: the copy has the sites of the original, or the VMM
// refuses it.
#include "frontends/x86/sites/copied_sites.hpp"

#include "inplace-vmm/backend/memory.hpp"
#include "inplace-vmm/rewriter.hpp"
#include "tests/unit/vmm/load_package.hpp"
#include "tests/unit/vmm/make_package.hpp"

#include <gtest/gtest.h>
#include <random>

namespace previrt {

namespace {

constexpr std::uint64_t table_at = 0x180000;
constexpr std::uint64_t code_at = 0x181000;
constexpr std::uint64_t copy_at = 0x190000;
constexpr std::uint64_t outside = 0xffff888000000000;

using Code = std::vector<std::uint8_t>;

struct Instruction {
    SiteKind kind;
    Code code; // with its padding
    std::uint8_t form;
    std::uint8_t lengths;
};

const Instruction cli{.kind = SiteKind::cli,
                      .code = {0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0xfa},
                      .form = encode_form(Shape::implicit, 0, false),
                      .lengths = 7 << 4 | 1};
const Instruction pushf{.kind = SiteKind::pushf,
                        .code = {0x2e, 0x2e, 0x2e, 0x2e, 0x9c},
                        .form = encode_form(Shape::implicit, 8, false),
                        .lengths = 4 << 4 | 1};
const Instruction iret{.kind = SiteKind::iret,
                       .code = {0x48, 0xcf, 0xcc, 0xcc, 0xcc},
                       .form = encode_form(Shape::implicit, 8, false),
                       .lengths = 3 << 4 | 2};
// sgdt 16(%rip)
const Instruction sgdt{.kind = SiteKind::sgdt,
                       .code = {0x0f, 0x01, 0x05, 0x10, 0, 0, 0},
                       .form = encode_form(Shape::memory, 0, false),
                       .lengths = 7};
// insb, with a NOP behind it
const Instruction ins{.kind = SiteKind::ins,
                      .code = {0x6c, 0x0f, 0x1f, 0x40, 0x00},
                      .form = encode_form(Shape::dx, 1, false),
                      .lengths = 4 << 4 | 1};

std::uint8_t* memory(std::uint64_t address) {
    return backend::guest_ram() + address;
}

class CopiedSites : public testing::Test {
protected:
    CopiedSites() {
        const auto stop = load_package(make_tiny_package());
        EXPECT_FALSE(stop) << *stop;
    }

    // Lays instructions out one behind the other, and announces them.
    void prepare(const std::vector<Instruction>& instructions) {
        std::uint64_t place = table_at;
        for (const Instruction& instruction : instructions) {
            const SiteRecord record{.site = static_cast<std::int32_t>(code_at + bytes_ - place),
                                    .kind = static_cast<std::uint8_t>(instruction.kind),
                                    .form = instruction.form,
                                    .operand = 0,
                                    .lengths = instruction.lengths};
            std::memcpy(memory(place), &record, sizeof(record));
            std::memcpy(memory(code_at + bytes_), instruction.code.data(), instruction.code.size());
            own_.insert(own_.end(), instruction.code.begin(), instruction.code.end());
            bytes_ += instruction.code.size();
            place += sizeof(record);
        }
        take_announced_sites(table_at, place - table_at);
        all_ = known_sites().size();
        ASSERT_NE(at(code_at), own_);
    }

    [[nodiscard]] Code at(std::uint64_t address) const { return {memory(address), memory(address) + bytes_}; }
    void copy_bytes(std::uint64_t to = copy_at) const { std::memcpy(memory(to), memory(code_at), bytes_); }
    [[nodiscard]] Refusal announce(std::uint64_t to = copy_at) const {
        return take_copied_sites({.to = to, .from = code_at, .bytes = bytes_});
    }
    void expect_refused(const CodeCopy& copy, Refusal refusal = Refusal::bad_records) const {
        EXPECT_EQ(take_copied_sites(copy), refusal);
        EXPECT_FALSE(has_sites(copy_at, copy_at + bytes_));
        EXPECT_EQ(known_sites().size(), all_);
    }

    Code own_;
    std::size_t bytes_ = 0;
    std::size_t all_ = 0;
};

TEST_F(CopiedSites, TheCopyHasTheSitesOfTheOriginal) {
    prepare({pushf, cli, iret});
    copy_bytes();
    ASSERT_EQ(announce(), Refusal::none);
    EXPECT_EQ(known_sites().size(), all_ + 3);
    for (const KnownSite& site : sites_in(copy_at, copy_at + bytes_)) {
        const std::size_t offset = site.address - copy_at;
        EXPECT_TRUE(is_rewritten(site, {memory(site.address), site.record.site_length()}));
        EXPECT_EQ(std::memcmp(site.bytes, own_.data() + offset, site.record.site_length()), 0);
    }
    EXPECT_NE(at(copy_at), at(code_at)); // calls are relative
    ASSERT_NE(find_site(copy_at), nullptr);
    EXPECT_EQ(find_site(copy_at)->kind(), SiteKind::pushf);
}

TEST_F(CopiedSites, ACopyOfACopyHasThemToo) {
    prepare({pushf, cli, iret});
    copy_bytes();
    ASSERT_EQ(announce(), Refusal::none);
    std::memcpy(memory(copy_at + 0x1000), memory(copy_at), bytes_);
    EXPECT_EQ(take_copied_sites({.to = copy_at + 0x1000, .from = copy_at, .bytes = bytes_}), Refusal::none);
    EXPECT_EQ(known_sites().size(), all_ + 6);
}

TEST_F(CopiedSites, ANewCopyReplacesAnOldOne) {
    prepare({cli, pushf});
    copy_bytes();
    ASSERT_EQ(announce(), Refusal::none);
    copy_bytes(copy_at + 3);
    ASSERT_EQ(announce(copy_at + 3), Refusal::none);
    EXPECT_EQ(known_sites().size(), all_ + 2);
    EXPECT_EQ(find_site(copy_at), nullptr);
    forget_announced_sites(copy_at, 0x1000);
    EXPECT_EQ(known_sites().size(), all_);
}

TEST_F(CopiedSites, TheGuestsOwnInstructionsMayStandInTheCopy) {
    prepare({cli, pushf, iret});
    std::memcpy(memory(copy_at), own_.data(), bytes_);
    EXPECT_EQ(announce(), Refusal::none);
    EXPECT_EQ(known_sites().size(), all_ + 3);
    EXPECT_NE(at(copy_at), own_);
}

TEST_F(CopiedSites, AnAdjustedInstructionIsTheOneInTheCopy) {
    prepare({sgdt});
    copy_bytes();
    expect_refused({.to = copy_at, .from = code_at, .bytes = bytes_}); // nobody has adjusted it
    own_[3] = 0x77;
    std::memcpy(memory(copy_at), own_.data(), bytes_);
    ASSERT_EQ(announce(), Refusal::none);
    EXPECT_EQ(find_site(copy_at)->bytes[3], 0x77);
}

// Linux 6.12 copies a call with its distance adjusted.
TEST_F(CopiedSites, AnAdjustedCallIsTheReplacement) {
    prepare({pushf});
    copy_bytes();
    ASSERT_EQ(*memory(copy_at), 0xe8);
    std::int32_t distance = 0;
    std::memcpy(&distance, memory(copy_at + 1), sizeof(distance));
    distance -= static_cast<std::int32_t>(copy_at - code_at);
    std::memcpy(memory(copy_at + 1), &distance, sizeof(distance));
    const Code adjusted = at(copy_at);
    EXPECT_EQ(announce(), Refusal::none);
    EXPECT_EQ(at(copy_at), adjusted);
    EXPECT_NE(find_site(copy_at), nullptr);
}

TEST_F(CopiedSites, PartOfASiteIsRefused) {
    prepare({cli, pushf, iret});
    copy_bytes();
    expect_refused({.to = copy_at, .from = code_at + 1, .bytes = bytes_ - 1});
    expect_refused({.to = copy_at, .from = code_at, .bytes = cli.code.size() - 1});
    expect_refused({.to = copy_at, .from = code_at + 5, .bytes = 1});
    expect_refused({.to = copy_at, .from = code_at, .bytes = bytes_ - 1}); // iret is silent
    EXPECT_EQ(take_copied_sites({.to = copy_at, .from = code_at, .bytes = 0}), Refusal::none);
}

TEST_F(CopiedSites, AnInstructionThatFaultsNeedsNoPadding) {
    prepare({ins});
    *memory(copy_at) = ins.code[0];
    EXPECT_EQ(take_copied_sites({.to = copy_at, .from = code_at, .bytes = 1}), Refusal::none);
    EXPECT_EQ(*memory(copy_at), ins.code[0]);
    EXPECT_EQ(known_sites().size(), all_);
    *memory(copy_at) = 0x90;
    expect_refused({.to = copy_at, .from = code_at, .bytes = 1});
}

TEST_F(CopiedSites, OtherCodeInTheCopyIsRefused) {
    prepare({cli, pushf});
    copy_bytes();
    *memory(copy_at + cli.code.size()) = 0x90;
    expect_refused({.to = copy_at, .from = code_at, .bytes = bytes_});
}

// Alternatives and jump labels replace code.
TEST_F(CopiedSites, WhatIsNoSiteAnyMoreIsPlainCode) {
    prepare({cli, pushf});
    *memory(code_at + cli.code.size()) = 0x90;
    copy_bytes();
    EXPECT_EQ(announce(), Refusal::none);
    EXPECT_EQ(known_sites().size(), all_ + 1);
    EXPECT_EQ(*memory(copy_at + cli.code.size()), 0x90);
    EXPECT_EQ(take_copied_sites({.to = copy_at, .from = code_at + cli.code.size() + 1, .bytes = 1}),
              Refusal::none);
}

TEST_F(CopiedSites, RangesAreBounded) {
    prepare({cli, pushf});
    copy_bytes();
    expect_refused({.to = copy_at, .from = code_at, .bytes = most_copied_bytes + 1});
    expect_refused({.to = copy_at, .from = code_at, .bytes = ~std::uint64_t{0}});
    expect_refused({.to = code_at, .from = code_at, .bytes = bytes_});
    expect_refused({.to = code_at + 1, .from = code_at, .bytes = bytes_});
    expect_refused({.to = code_at, .from = code_at + 1, .bytes = bytes_ - 1});
    expect_refused({.to = ~std::uint64_t{3}, .from = code_at, .bytes = bytes_});
    expect_refused({.to = copy_at, .from = ~std::uint64_t{3}, .bytes = bytes_});
    expect_refused({.to = outside, .from = code_at, .bytes = bytes_});
    EXPECT_EQ(take_copied_sites({.to = copy_at, .from = outside, .bytes = bytes_}), Refusal::none);
}

TEST_F(CopiedSites, WithoutRoomACopyIsRefused) {
    prepare({cli, pushf});
    copy_bytes();
    fake::host.most_sites = 0; // there is no more memory for them
    KnownSite other = *find_site(code_at);
    for (other.address = outside; add_site(other); other.address += other.record.site_length()) {
    }
    all_ = known_sites().size();
    expect_refused({.to = copy_at, .from = code_at, .bytes = bytes_}, Refusal::no_room);
}

TEST_F(CopiedSites, AReaderSeesTheGuestsOwnInstructions) {
    prepare({cli, pushf, iret, sgdt});
    copy_bytes();
    show_own_instructions({.to = copy_at, .from = code_at, .bytes = bytes_});
    EXPECT_EQ(at(copy_at), own_);
    EXPECT_EQ(known_sites().size(), all_);
}

TEST_F(CopiedSites, AReaderSeesWholeReplacementsAlone) {
    prepare({cli, pushf});
    copy_bytes();
    const Code copied = at(copy_at);
    show_own_instructions({.to = copy_at, .from = code_at, .bytes = cli.code.size() - 1});
    show_own_instructions({.to = copy_at + 1, .from = code_at + 1, .bytes = cli.code.size() - 1});
    show_own_instructions({.to = copy_at, .from = code_at, .bytes = most_copied_bytes + 1});
    show_own_instructions({.to = outside, .from = code_at, .bytes = bytes_});
    EXPECT_EQ(at(copy_at), copied);
    *memory(copy_at + 2) = 0xcc;
    show_own_instructions({.to = copy_at, .from = code_at, .bytes = bytes_});
    EXPECT_EQ(at(copy_at)[0], copied[0]);
    EXPECT_EQ(at(copy_at)[cli.code.size()], own_[cli.code.size()]);
}

// Whatever is announced: no undefined behaviour (sanitizers), and the list stays whole.
TEST_F(CopiedSites, AnyCopyIsTakenOrRefused) {
    prepare({cli, pushf, iret, sgdt, ins});
    std::mt19937_64 random(7);
    for (unsigned i = 0; i < 20000; ++i) {
        const auto place = [&] {
            constexpr std::uint64_t around = 64;
            return random() % 64 == 0 ? random()
                                      : (random() % 2 == 0 ? code_at : copy_at) + (random() % around);
        };
        const CodeCopy copy{
            .to = place(), .from = place(), .bytes = random() % 64 == 0 ? random() : random() % 64};
        if (random() % 2 == 0) {
            copy_bytes(copy_at + (random() % 64));
        }
        if (random() % 4 == 0) {
            show_own_instructions(copy);
        } else {
            (void)take_copied_sites(copy);
        }
        std::uint64_t end = 0;
        for (const KnownSite& site : known_sites()) {
            ASSERT_GE(site.address, end);
            end = site.end();
        }
    }
}

} // namespace

} // namespace previrt
