// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/image/relocations.hpp"

#include "tests/unit/compress.hpp"
#include "tests/unit/make_linux.hpp"

#include <gtest/gtest.h>
#include <tuple>

namespace previrt {

namespace {

const ElfImage& sample() {
    static const ElfImage image = ElfImage::parse(make_linux(linux_sample));
    return image;
}

std::string refusal_of_table(Bytes table) {
    const std::string message = refusal([&] { read_kernel_relocations(sample(), table); });
    EXPECT_TRUE(
        contains(message, "the relocation table behind its ELF file is damaged, build the kernel again: "));
    EXPECT_EQ(message.find('\n'), std::string::npos);
    return message;
}

std::string refusal_of(const LinuxRelocations& relocations) {
    return refusal_of_table(make_relocation_table(relocations));
}

auto fields(const LinuxRelocations& relocations) {
    std::vector<std::tuple<std::uint64_t, RelocatedField, std::uint64_t>> list;
    for (const KernelRelocation& relocation :
         read_kernel_relocations(sample(), make_relocation_table(relocations))) {
        list.emplace_back(relocation.address, relocation.field, relocation.size());
    }
    return list;
}

TEST(Relocations, AreReadFromTheEndAndGivenByAddress) {
    using enum RelocatedField;
    const LinuxRelocations relocations{.full_64 = {linux_data + 8, linux_text},
                                       .inverse_32 = {linux_text + 20, linux_text + 16},
                                       .signed_32 = {linux_data, linux_text + 8, linux_data + 4}};
    EXPECT_EQ(fields(relocations), (decltype(fields({})){{linux_text, full_64, 8},
                                                         {linux_text + 8, signed_32, 4},
                                                         {linux_text + 16, inverse_32, 4},
                                                         {linux_text + 20, inverse_32, 4},
                                                         {linux_data, signed_32, 4},
                                                         {linux_data + 4, signed_32, 4},
                                                         {linux_data + 8, full_64, 8}}));
    EXPECT_TRUE(fields({}).empty());
}

TEST(Relocations, ATableCutShortIsRefused) {
    const Buffer table = make_relocation_table(linux_sample_relocations);
    EXPECT_EQ(refusal([&] { read_kernel_relocations(sample(), table); }), "accepted");
    for (std::size_t cut = 1; cut < table.size(); ++cut) {
        refusal_of_table(Bytes(table).subspan(cut));
        if (cut % 4 != 0) { // whole fields are not missed at the end
            refusal_of_table(Bytes(table).first(table.size() - cut));
        }
    }
    refusal_of_table({});
}

TEST(Relocations, EachListHasItsZero) {
    const LinuxRelocations one{
        .full_64 = {linux_text + 16}, .inverse_32 = {linux_text + 8}, .signed_32 = {linux_text}};
    const Buffer table = make_relocation_table(one);
    EXPECT_TRUE(contains(refusal_of_table(Bytes(table).subspan(4)), "list of 64-bit fields is missing"));
    EXPECT_TRUE(
        contains(refusal_of_table(Bytes(table).subspan(12)), "list of inverse 32-bit fields is missing"));
    EXPECT_TRUE(contains(refusal_of_table(Bytes(table).subspan(20)), "list of 32-bit fields is missing"));
    Buffer longer(8, 0x11);
    longer.insert(longer.end(), table.begin(), table.end());
    EXPECT_TRUE(contains(refusal_of_table(longer), "its lists end 8 bytes behind the end of the ELF file"));
}

TEST(Relocations, TheSizeIsThatOfWholeAddresses) {
    for (const std::size_t more : {1U, 2U, 3U}) {
        Buffer table = make_relocation_table(linux_sample_relocations);
        table.insert(table.begin(), more, 0);
        EXPECT_TRUE(contains(refusal_of_table(table), "no whole number of 32-bit addresses"));
    }
    EXPECT_TRUE(
        contains(refusal_of_table(Buffer((sample().file().size() / 4 * 4) + 4)), "larger than the kernel"));
}

TEST(Relocations, FieldsLieInTheContentsOfASection) {
    const std::uint64_t text_end = linux_text + linux_sample.text.size();
    const std::uint64_t data_end = linux_data + linux_sample.data.size();
    EXPECT_EQ(fields({.full_64 = {data_end - 8}, .inverse_32 = {}, .signed_32 = {text_end - 4}}).size(), 2U);
    for (const std::uint64_t address : {linux_text - 1, text_end - 3, text_end, linux_data - 1, linux_bss,
                                        std::uint64_t{1}, std::uint64_t{0x1000000}, ~std::uint64_t{0}}) {
        EXPECT_TRUE(
            contains(refusal_of({.full_64 = {}, .inverse_32 = {}, .signed_32 = {address}}), "lies outside"));
        EXPECT_TRUE(
            contains(refusal_of({.full_64 = {}, .inverse_32 = {address}, .signed_32 = {}}), "lies outside"));
        EXPECT_TRUE(
            contains(refusal_of({.full_64 = {address}, .inverse_32 = {}, .signed_32 = {}}), "lies outside"));
    }
    EXPECT_TRUE(
        contains(refusal_of({.full_64 = {data_end - 7}, .inverse_32 = {}, .signed_32 = {}}), "lies outside"));
}

TEST(Relocations, FieldsDoNotOverlap) {
    for (const std::uint64_t distance : {0U, 1U, 3U}) {
        const LinuxRelocations overlapping{
            .full_64 = {}, .inverse_32 = {linux_text + distance}, .signed_32 = {linux_text}};
        EXPECT_TRUE(contains(refusal_of(overlapping), "the fields at 0xffffffff81000000 and "));
    }
    for (const std::uint64_t distance : {0U, 4U, 7U}) {
        EXPECT_TRUE(contains(
            refusal_of({.full_64 = {linux_text}, .inverse_32 = {}, .signed_32 = {linux_text + distance}}),
            "overlap"));
    }
    EXPECT_TRUE(contains(
        refusal_of({.full_64 = {linux_text + 3}, .inverse_32 = {}, .signed_32 = {linux_text}}), "overlap"));
    EXPECT_TRUE(contains(refusal_of({.full_64 = {}, .inverse_32 = {}, .signed_32 = {linux_text, linux_text}}),
                         "overlap"));
}

} // namespace

} // namespace previrt
