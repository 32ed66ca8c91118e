// SPDX-License-Identifier: BSD-2-Clause
// A small kernel with every kind of field, moved, and those that cannot be.
#include "toolchain/pack/slid_kernel.hpp"

#include "tests/unit/compress.hpp"
#include "tests/unit/linux_in_memory.hpp"
#include "toolchain/image/elf_headers.hpp"
#include "toolchain/image/places.hpp"
#include "toolchain/image/site_table.hpp"

#include <algorithm>
#include <functional>
#include <gtest/gtest.h>

namespace previrt {

namespace {

constexpr std::uint64_t low_address = 0x7000'0000;
constexpr std::uint64_t low_distance = low_address - linux_text;
constexpr std::uint64_t large_page = std::uint64_t{1} << 21U;

Buffer slide(const Buffer& elf, const LinuxRelocations& relocations, std::uint64_t address = low_address) {
    const KernelFile file = parse_kernel_file("kernel", elf);
    return slide_kernel(file, make_relocation_table(relocations), address);
}

Buffer slide_sample(std::uint64_t address) {
    return slide(make_linux(linux_sample), linux_sample_relocations, address);
}

std::string refusal_of(const Buffer& elf, const LinuxRelocations& relocations,
                       std::uint64_t address = low_address) {
    const std::string message = refusal([&] { slide(elf, relocations, address); });
    EXPECT_TRUE(contains(message, "kernel: cannot be loaded at " + hex(address) + ": "));
    EXPECT_EQ(message.find('\n'), std::string::npos);
    return message;
}

Buffer section(const Buffer& elf, const std::string& name) {
    const ElfImage image = ElfImage::parse(elf);
    const auto found = std::ranges::find(image.sections(), name, &Section::name);
    return {found->bytes.begin(), found->bytes.end()};
}

// ---- what is changed

TEST(SlidKernel, FieldsInTheFirstTwoGib) {
    const Buffer slid = slide_sample(low_address);
    EXPECT_EQ(section(slid, ".text"),
              (Buffer{0x48, 0xc7, 0xc7, 0x10, 0x00, 0x00, 0x70, // mov $0x70000010, %rdi
                      0x40, 0x8d, 0x88, 0xff, 0x0f, 0x00, 0xf0, // lea 0xf0000fff(%rax), %ecx
                      0x40, 0x05, 0x00, 0x00, 0xc0, 0xf0,       // add $0xf0c00000, %eax
                      0x41, 0x81, 0xc0, 0x00, 0x00, 0xe0, 0xf0, // add $0xf0e00000, %r8d
                      0x40, 0x81, 0xf1, 0x00, 0x00, 0x00, 0xef, // xor $0xef000000, %ecx
                      0x40, 0xc7, 0xc1, 0x00, 0x00, 0x00, 0xef, // mov $0xef000000, %ecx
                      0x48, 0xb8, 0x00, 0x00, 0x00, 0xf0, 0x00, 0x00, 0x00, 0x00, // movabs $0xf0000000, %rax
                      0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0xfa,             // cli
                      0x2e, 0x2e, 0x48, 0x89, 0x8f, 0x00, 0x00, 0xc0, 0x70, // mov %rcx, 0x70c00000(%rdi)
                      0xc3}));
    EXPECT_EQ(section(slid, ".data"), (Buffer{0x10, 0x00, 0x00, 0x70, 0x00, 0x00, 0x00, 0x00, //
                                              0x67, 0x00, 0xc0, 0xf0, 0x00, 0x00, 0x00, 0x00, //
                                              0x00, 0x00, 0xe0, 0x70, 0x78, 0x56, 0x34, 0x12}));
    EXPECT_EQ(section(slid, "previrt_sites"), section(make_linux(linux_sample), "previrt_sites"));
}

TEST(SlidKernel, HeadersHaveItsNewAddresses) {
    const Buffer linked = make_linux(linux_sample);
    const Buffer slid = slide_sample(low_address);
    const auto moved = [](std::uint64_t address) { return address == 0 ? 0 : address + low_distance; };
    const auto linked_segments = read_program_headers(linked);
    const auto segments = read_program_headers(slid);
    ASSERT_EQ(segments.size(), 7U);
    for (std::size_t i = 0; i < segments.size(); ++i) {
        EXPECT_EQ(segments[i].p_vaddr, moved(linked_segments[i].p_vaddr));
        EXPECT_EQ(segments[i].p_paddr, linked_segments[i].p_paddr);
        EXPECT_EQ(segments[i].p_memsz, linked_segments[i].p_memsz);
    }
    const auto linked_sections = read_section_headers(linked);
    const auto sections = read_section_headers(slid);
    ASSERT_EQ(sections.size(), linked_sections.size());
    for (std::size_t i = 0; i < sections.size(); ++i) {
        EXPECT_EQ(sections[i].sh_addr, moved(linked_sections[i].sh_addr));
        EXPECT_EQ(sections[i].sh_offset, linked_sections[i].sh_offset);
    }
    EXPECT_EQ(read_file_header(slid).e_entry, physical(linux_text));
}

TEST(SlidKernel, AVirtualEntryMovesAsWell) {
    const ElfFile file = make_linux_sections(linux_sample);
    const Buffer elf = with_segments(file, linux_segments(file, linux_sample), linux_text + 8);
    EXPECT_EQ(read_file_header(slide(elf, linux_sample_relocations)).e_entry, low_address + 8);
}

TEST(SlidKernel, ItsRecordsResolveToTheSameInstructions) {
    const KernelFile file = parse_kernel_file("slid", slide_sample(low_address));
    const std::vector<Site> sites = read_site_table(file, Places(file.elf));
    ASSERT_EQ(sites.size(), 2U);
    EXPECT_EQ(sites[0].address, low_address + 0x33);
    EXPECT_EQ(sites[1].address, low_address + 0x3b);
}

TEST(SlidKernel, IsWhatLinuxMakesOfItselfInTheLastTwoGib) {
    for (const std::uint64_t address : {start_kernel_map, linux_text, linux_text + 0x200000,
                                        linux_text + 0x1000'0000, std::uint64_t{0xffff'ffff'ff00'0000}}) {
        Buffer expected = load_elf(make_linux(linux_sample));
        handle_relocations(expected, make_relocation_table(linux_sample_relocations), address - linux_text);
        EXPECT_EQ(load_elf(slide_sample(address)), expected) << hex(address);
    }
}

TEST(SlidKernel, GoesWhereTheWholeOfItFits) {
    const Buffer linux = make_linux(linux_sample);
    const std::uint64_t size = linux_bss + linux_bss_size - linux_text;
    const std::uint64_t highest = (0x8000'0000 - size) & ~(large_page - 1);
    EXPECT_NE(slide_sample(highest), linux);
    for (const std::uint64_t address :
         {highest + large_page, std::uint64_t{0x8000'0000}, start_kernel_map - large_page,
          std::uint64_t{0xffff'ffff'ff20'0000}}) {
        EXPECT_TRUE(contains(refusal_of(linux, {}, address), "only the first and the last 2 GiB"));
    }
    for (const std::uint64_t address :
         {low_address + 1, low_address + (large_page / 2), low_address - 0x1000}) {
        EXPECT_TRUE(contains(refusal_of(linux, {}, address),
                             "linked at 0xffffffff81000000, and moves by multiples of 2 MiB"));
    }
}

// ---- fields that cannot be changed

// The sample with a field of four bytes at the end of its text.
struct Ending {
    Buffer code;
    std::uint32_t value;
};

LinuxContents contents_with(const Ending& ending) {
    LinuxContents contents = linux_sample;
    append(contents.text, ending.code);
    append_little_endian_u32(contents.text, ending.value);
    return contents;
}

const std::uint64_t end_of_text = linux_text + linux_sample.text.size();

Buffer slide_with(const Ending& ending, std::uint64_t address = low_address) {
    const LinuxRelocations relocations{
        .full_64 = {}, .inverse_32 = {}, .signed_32 = {end_of_text + ending.code.size()}};
    return slide(make_linux(contents_with(ending)), relocations, address);
}

std::string refusal_with(const Ending& ending, std::uint64_t address = low_address) {
    return refusal([&] { slide_with(ending, address); });
}

const Buffer mov_to_rax{0x48, 0xc7, 0xc0};

TEST(SlidKernel, AnAddressStaysInItsTwoGib) {
    const Buffer slid = section(slide_with({mov_to_rax, 0x90ff'ffff}), ".text");
    EXPECT_EQ(Buffer(slid.end() - 7, slid.end()), (Buffer{0x48, 0xc7, 0xc0, 0xff, 0xff, 0xff, 0x7f}));
    EXPECT_TRUE(contains(refusal_with({mov_to_rax, 0x9100'0000}),
                         "the field at .text+0x48 would hold 0x80000000, which 32 bits cannot"));
    EXPECT_TRUE(contains(refusal_with({mov_to_rax, 0xffff'ffff}), "would hold 0xeeffffff"));
    EXPECT_TRUE(
        contains(refusal_with({mov_to_rax, 0xf000'0000}, linux_text + 0x1000'0000), "would hold 0x0"));
    EXPECT_TRUE(
        contains(refusal_with({mov_to_rax, 0x8000'0000}, start_kernel_map), "would hold 0xffffffff7f000000"));
}

TEST(SlidKernel, ADistanceStaysBelowFourGib) {
    const Buffer slid = section(slide_with({mov_to_rax, 0x10ff'ffff}), ".text");
    EXPECT_EQ(Buffer(slid.end() - 7, slid.end()), (Buffer{0x40, 0xc7, 0xc0, 0xff, 0xff, 0xff, 0xff}));
    EXPECT_TRUE(
        contains(refusal_with({mov_to_rax, 0x1100'0000}), "would hold 0x100000000, which 32 bits cannot"));
    EXPECT_TRUE(contains(refusal_with({mov_to_rax, 0x7fff'ffff}), "would hold 0x16effffff"));
}

TEST(SlidKernel, OnlyKnownInstructionsTakeADistanceThatIsNotSignExtended) {
    const auto code_after = [](const Buffer& code) {
        const Buffer slid = section(slide_with({code, 0}), ".text");
        return Buffer(slid.begin() + static_cast<std::ptrdiff_t>(linux_sample.text.size()), slid.end() - 4);
    };
    for (const Buffer& code :
         {Buffer{0x48, 0x05}, Buffer{0x48, 0x8d, 0x80}, Buffer{0x4d, 0x8d, 0xbf}, Buffer{0x48, 0x81, 0xc7},
          Buffer{0x49, 0x81, 0xf7}, Buffer{0x49, 0xc7, 0xc7}}) {
        Buffer expected = code;
        expected[0] ^= 0x08U;
        EXPECT_EQ(code_after(code), expected);
    }
    const std::vector<Buffer> others{
        {0x48, 0x3d},                   // cmp $, %rax
        {0x40, 0x05},                   // add $, %eax
        {0x49, 0x05},                   // add $, %rax with a prefix that no assembler writes
        {0x05},                         // behind ret: add $, %eax
        {0x48, 0x8b, 0x80},             // mov (%rax), %rax
        {0x48, 0x8d, 0x84},             // lea: the field would begin in the SIB byte's place
        {0x48, 0x8d, 0x84, 0x00},       // lea (%rax,%rax), %rax
        {0x48, 0x8d, 0x05},             // lea (%rip), %rax
        {0x48, 0x8d, 0x40},             // lea of one byte
        {0x48, 0x8d, 0xc0},             // no lea
        {0x40, 0x8d, 0x80},             // lea (%rax), %eax
        {0x8d, 0x80},                   // the same
        {0x66, 0x8d, 0x80},             // lea (%rax), %ax
        {0x48, 0x81, 0xe9},             // sub $, %rcx
        {0x48, 0x81, 0xf9},             // cmp $, %rcx
        {0x48, 0x81, 0x40},             // add $, 0(%rax)
        {0x48, 0x81, 0x00},             // add $, (%rax)
        {0x48, 0xc7, 0x00},             // mov $, (%rax)
        {0x48, 0xc7, 0xc8},             // no mov
        {0x48, 0xc7, 0x80, 0, 0, 0, 0}, // mov $, 0(%rax)
        {0x48, 0xb8},                   // movabs
        {},                             // ret
    };
    for (const Buffer& code : others) {
        EXPECT_TRUE(contains(refusal_with({code, 0}), "belongs to no instruction that is known to take 32"));
    }
}

TEST(SlidKernel, OnlyCodeIsLookedAtForInstructions) {
    LinuxContents contents = linux_sample;
    contents.data = {0x48, 0x05, 0x00, 0x00, 0xc0, 0x01};
    EXPECT_TRUE(contains(
        refusal_of(make_linux(contents), {.full_64 = {}, .inverse_32 = {}, .signed_32 = {linux_data + 2}}),
        "the field at .data+0x2 would hold more than 31 bits, and belongs to no instruction"));
}

TEST(SlidKernel, TheInstructionLiesInItsSectionAndBehindTheFieldBefore) {
    for (const Buffer& code : {Buffer{}, Buffer{0x05}, Buffer{0x81, 0xc0}, Buffer{0x8d, 0x80}}) {
        LinuxContents contents{.text = code, .data = linux_sample.data, .sites = {}};
        append_little_endian_u32(contents.text, 0);
        EXPECT_TRUE(
            contains(refusal_of(make_linux(contents),
                                {.full_64 = {}, .inverse_32 = {}, .signed_32 = {linux_text + code.size()}}),
                     "belongs to no instruction"));
    }
    const Buffer elf = make_linux(contents_with({{0, 0, 0, 0, 0, 0, 0, 0x48, 0xc7, 0xc0}, 0}));
    EXPECT_TRUE(contains(
        refusal_of(elf, {.full_64 = {end_of_text}, .inverse_32 = {}, .signed_32 = {end_of_text + 10}}),
        "belongs to no instruction"));
    slide(elf, {.full_64 = {end_of_text - 1}, .inverse_32 = {}, .signed_32 = {end_of_text + 10}});
}

TEST(SlidKernel, SegmentsLieInTheLastTwoGib) {
    const ElfFile file = make_linux_sections(linux_sample);
    for (const std::uint64_t address : {std::uint64_t{1}, start_kernel_map - 1, ~std::uint64_t{0}}) {
        std::vector<Elf64_Phdr> segments = linux_segments(file, linux_sample);
        segments[3].p_vaddr = address;
        EXPECT_TRUE(contains(refusal_of(with_segments(file, segments, physical(linux_text)), {}),
                             "its segment at " + hex(address) + " is not in the last 2 GiB"));
    }
}

// ---- kernels of several processors

// Data of a processor: an address, and something that is counted.
const Buffer processor_data{0x10, 0x00, 0x00, 0x81, 0xff, 0xff, 0xff, 0xff, 1, 2, 3, 4, 5, 6, 7, 8};

// The sample, and behind it `mov %gs:COUNTED(%rip), %rax`, which counts from the end of the instruction.
LinuxContents smp_sample(std::uint32_t counted) {
    LinuxContents contents = linux_sample;
    append(contents.text, Buffer{0x65, 0x48, 0x8b, 0x05});
    const std::uint64_t end = linux_text + contents.text.size() + 4;
    append_little_endian_u32(contents.text, counted - static_cast<std::uint32_t>(end));
    return contents;
}

const std::uint64_t smp_field = end_of_text + 4;
const LinuxRelocations smp_relocations{
    .full_64 = {linux_processor_data}, .inverse_32 = {smp_field}, .signed_32 = {}};

std::uint32_t last_word(const Buffer& bytes) {
    std::uint32_t word = 0;
    std::memcpy(&word, bytes.data() + bytes.size() - sizeof word, sizeof word);
    return word;
}

TEST(SlidKernel, WhatCountsToTheDataOfAProcessorStillDoes) {
    const Buffer slid = slide(make_smp_linux(smp_sample(8), processor_data), smp_relocations);
    const std::uint64_t end = smp_field + 4 + low_distance;
    EXPECT_EQ(last_word(section(slid, ".text")), 8 - static_cast<std::uint32_t>(end));
    Buffer expected = processor_data;
    expected[3] = 0x70;
    std::fill_n(expected.begin() + 4, 4, std::uint8_t{0});
    EXPECT_EQ(section(slid, ".data..percpu"), expected);
    const Elf64_Phdr segment = read_program_headers(slid).back();
    EXPECT_EQ(segment.p_vaddr, 0U);
    EXPECT_EQ(segment.p_paddr, physical(linux_processor_data));
}

TEST(SlidKernel, ForSeveralProcessorsItIsWhatLinuxMakesOfItself) {
    const Buffer linux = make_smp_linux(smp_sample(8), processor_data);
    for (const std::uint64_t address : {linux_text, linux_text + 0x200000, linux_text + 0x1000'0000}) {
        Buffer expected = load_elf(linux);
        handle_relocations(expected, make_relocation_table(smp_relocations), address - linux_text);
        EXPECT_EQ(load_elf(slide(linux, smp_relocations, address)), expected) << hex(address);
    }
}

TEST(SlidKernel, OnlyTheDataOfAProcessorAreCountedTo) {
    const std::string part = "the field at .text+0x49 does not count to the data of a processor";
    for (const std::uint32_t counted : {0x1000U, 0x7fff'ffffU, 0xffff'f000U}) {
        EXPECT_TRUE(
            contains(refusal_of(make_smp_linux(smp_sample(counted), processor_data), smp_relocations), part))
            << counted;
    }
    const LinuxRelocations inverse{.full_64 = {}, .inverse_32 = {smp_field}, .signed_32 = {}};
    EXPECT_TRUE(contains(refusal_of(make_linux(smp_sample(8)), inverse), part));
}

TEST(SlidKernel, TheTableNamesTheDataOfAProcessorWhereTheyAreLoaded) {
    const Buffer linux = make_smp_linux(smp_sample(8), processor_data);
    for (const std::uint64_t address :
         {std::uint64_t{8}, linux_processor_data + 9, linux_processor_data - 1}) {
        EXPECT_TRUE(contains(refusal_of(linux, {.full_64 = {address}, .inverse_32 = {}, .signed_32 = {}}),
                             "lies outside the contents of the kernel's sections"))
            << hex(address);
    }
}

TEST(SlidKernel, SectionsAreLoadedFromWhereTheyStand) {
    const ElfFile file = make_linux_sections(linux_sample);
    const auto refused = [&](const std::function<void(std::vector<Elf64_Phdr>&)>& change,
                             const std::string& part) {
        std::vector<Elf64_Phdr> segments = linux_segments(file, linux_sample);
        change(segments);
        EXPECT_TRUE(contains(refusal_of(with_segments(file, segments, physical(linux_text)), {}), part));
    };
    refused([](auto& segments) { segments.clear(); }, "no segment to load");
    refused([](auto& segments) { segments[3].p_type = PT_NOTE; }, ".data is in no segment to load");
    refused([](auto& segments) { segments[3].p_offset += 1; }, ".data is in no segment");
    refused([](auto& segments) { segments[3].p_filesz -= 1; }, ".data is in no segment");
    refused([](auto& segments) { segments[3].p_vaddr += 1; }, ".data is in no segment");
    refused([](auto& segments) { segments[0].p_vaddr += large_page; }, ".text is in no segment");
}

// ---- records

TEST(SlidKernel, RecordsAndTheirSitesStayAsTheyAre) {
    const Buffer linux = make_linux(linux_sample);
    const auto refused = [&](const LinuxRelocations& relocations, const std::string& part) {
        EXPECT_TRUE(contains(refusal_of(linux, relocations), part));
    };
    refused({.full_64 = {ElfBuilder::site_table_address}, .inverse_32 = {}, .signed_32 = {}},
            "the field at previrt_sites+0x0 belongs to the records");
    const std::string half = "is half inside the recorded site at ";
    refused({.full_64 = {}, .inverse_32 = {}, .signed_32 = {linux_text + 0x30}}, half + "0xffffffff81000033");
    refused({.full_64 = {}, .inverse_32 = {}, .signed_32 = {linux_text + 0x38}}, half + "0xffffffff8100003b");
    refused({.full_64 = {linux_text + 0x2c}, .inverse_32 = {}, .signed_32 = {}}, half + "0xffffffff81000033");
    refused({.full_64 = {linux_text + 0x3d}, .inverse_32 = {}, .signed_32 = {}}, half + "0xffffffff8100003b");
    const std::string changes = "a relocation changes the site at ";
    refused({.full_64 = {linux_text + 0x33}, .inverse_32 = {}, .signed_32 = {}},
            changes + "0xffffffff81000033: the padding");
    refused({.full_64 = {linux_text + 0x3b}, .inverse_32 = {}, .signed_32 = {}},
            changes + "0xffffffff8100003b: ");
    refused({.full_64 = {linux_text + 0x3c}, .inverse_32 = {}, .signed_32 = {}},
            changes + "0xffffffff8100003b: ");
}

TEST(SlidKernel, ASitesImmediateIsNoPrefix) {
    const Buffer code{0x2e, 0x2e, 0x2e, 0xe4, 0x48, 0x05}; // in $0x48, %al; add $, %eax
    LinuxContents contents = contents_with({code, 0});
    contents.sites.push_back({linux_sample.text.size(),
                              make_record(SiteKind::in, encode_form(Shape::immediate, 1, false), 0, 3, 2)});
    EXPECT_TRUE(
        contains(refusal_of(make_linux(contents),
                            {.full_64 = {}, .inverse_32 = {}, .signed_32 = {end_of_text + code.size()}}),
                 "is half inside the recorded site"));
}

} // namespace

} // namespace previrt
