// SPDX-License-Identifier: BSD-2-Clause
#include "host/input_error.hpp"
#include "tests/unit/contains.hpp"
#include "tests/unit/make_elf.hpp"
#include "toolchain/image/elf_image.hpp"
#include "toolchain/image/kernel_file.hpp"
#include "toolchain/image/places.hpp"
#include "toolchain/image/site_table.hpp"

#include <algorithm>
#include <array>
#include <elf.h>
#include <gtest/gtest.h>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace previrt {

namespace {

using Buffer = std::vector<std::uint8_t>;

constexpr const char* path = "sample.elf";
constexpr std::uint64_t highest_address = std::numeric_limits<std::uint64_t>::max();

// ---- what a file makes the library say

// The message of the InputError that `action` throws.
template <typename Action>
std::string message_of(Action action) {
    try {
        action();
    } catch (const InputError& error) {
        const std::string message = error.what();
        EXPECT_FALSE(message.empty());
        EXPECT_EQ(message.find('\n'), std::string::npos) << message;
        return message;
    }
    ADD_FAILURE() << "no InputError";
    return "";
}

std::vector<Site> read_sites(const Buffer& bytes) {
    const KernelFile file = parse_kernel_file(path, bytes);
    return read_site_table(file, Places(file.elf));
}

std::string message_of_parsing(const ElfFile& file) {
    return message_of([&] { parse_kernel_file(path, file.bytes); });
}

// Of a file that is well-formed but for its table.
std::string message_of_table(const ElfFile& file) {
    const KernelFile parsed = parse_kernel_file(path, file.bytes);
    return message_of([&] { read_site_table(parsed, Places(parsed.elf)); });
}

// Nothing but an InputError may come of it.
void read_or_refuse(const Buffer& bytes) {
    try {
        read_sites(bytes);
        sort_site_table(parse_kernel_file(path, bytes));
    } catch (const InputError& error) {
        EXPECT_NE(*error.what(), '\0');
    }
}

std::vector<std::uint64_t> addresses(const std::vector<Site>& sites) {
    std::vector<std::uint64_t> list(sites.size());
    std::ranges::transform(sites, list.begin(), &Site::address);
    return list;
}

// ---- sample files

constexpr std::uint8_t no_operands = encode_form(Shape::implicit, 0, false);
const SiteRecord cli_record = make_record(SiteKind::cli, no_operands, 0, 7, 1);
const SiteRecord sti_record = make_record(SiteKind::sti, no_operands, 0, 4, 1);

constexpr std::uint64_t first_site = 1;
constexpr std::uint64_t second_site = 9;
constexpr std::uint64_t text_size = 15;

const Buffer text{
    0x90,                                           // nop
    0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0xfa, // cli
    0x2e, 0x2e, 0x2e, 0x2e, 0xfb,                   // sti
    0xc3,                                           // ret
};

const std::vector<RecordedSite> in_order{{first_site, cli_record}, {second_site, sti_record}};
const std::vector<RecordedSite> out_of_order{{second_site, sti_record}, {first_site, cli_record}};

ElfBuilder linked_builder() {
    return make_elf_with_sites(ET_EXEC, text, in_order);
}
ElfFile linked() {
    return linked_builder().build();
}
ElfFile object() {
    return make_elf_with_sites(ET_REL, text, in_order).build();
}

// An object whose second section of code, as in an assembler's output, has its records among those of .text.
ElfFile object_of_two_sections(const std::vector<RecordedSite>& sites) {
    ElfBuilder builder(ET_REL);
    builder.add_code(".text", 0, text);
    builder.add_code(".init.text", 0, text);
    builder.add_site_table(sites);
    builder.add_note();
    return builder.build();
}

ElfFile linked_of_two_sections(std::uint64_t second_address) {
    ElfBuilder builder(ET_EXEC);
    builder.add_code(".text", ElfBuilder::text_address, text);
    builder.add_code(".init.text", second_address, text);
    return builder.build();
}

// ---- the samples are good

TEST(Malformed, TheLinkedSampleIsNot) {
    const KernelFile file = parse_kernel_file(path, linked().bytes);
    EXPECT_FALSE(file.elf.relocatable());
    EXPECT_EQ(code_and_templates(file.elf).size(), 1U);
    const auto expected =
        std::vector{ElfBuilder::text_address + first_site, ElfBuilder::text_address + second_site};
    const Places places(file.elf);
    EXPECT_EQ(addresses(read_site_table(file, places)), expected);
    EXPECT_EQ(places.at(expected[1]).text(), ".text+0x9 (code+0x9)");
}

TEST(Malformed, TheObjectSampleIsNot) {
    const KernelFile file = parse_kernel_file(path, object().bytes);
    EXPECT_TRUE(file.elf.relocatable());
    const Places places(file.elf);
    const std::vector<Site> sites = read_site_table(file, places);
    ASSERT_EQ(sites.size(), 2U);
    EXPECT_EQ(places.at(sites[0].address).text(), ".text+0x1 (code+0x1)");
    EXPECT_EQ(places.at(sites[1].address).text(), ".text+0x9 (code+0x9)");
}

TEST(Malformed, AFileWithoutRecordsIsNot) {
    ElfBuilder builder(ET_EXEC);
    builder.add_code(".text", ElfBuilder::text_address, text);
    EXPECT_TRUE(read_sites(builder.build().bytes).empty());
}

// ---- damage of any kind

TEST(Malformed, TruncatedAnywhere) {
    for (const ElfFile& file : {linked(), object()}) {
        for (std::size_t size = 0; size < file.bytes.size(); ++size) {
            const Buffer truncated(file.bytes.begin(),
                                   file.bytes.begin() + static_cast<std::ptrdiff_t>(size));
            SCOPED_TRACE(size);
            // The section headers come last: without one of them the file is refused.
            message_of([&] { read_sites(truncated); });
        }
    }
}

TEST(Malformed, AnyByteChanged) {
    for (const ElfFile& file : {linked(), object()}) {
        for (std::size_t at = 0; at < file.bytes.size(); ++at) {
            const std::uint8_t old = file.bytes[at];
            for (const unsigned value : {0x00U, 0xffU, old + 1U, old ^ 0x40U}) {
                Buffer changed = file.bytes;
                changed[at] = static_cast<std::uint8_t>(value);
                SCOPED_TRACE(at);
                read_or_refuse(changed);
            }
        }
    }
}

TEST(Malformed, MessagesBeginWithThePath) {
    ElfFile file = linked();
    file.edit<SiteRecord>("previrt_sites", 0, [](SiteRecord& record) { record.kind = 0; });
    EXPECT_TRUE(message_of_table(file).starts_with("sample.elf: record 0 "));
    file.bytes[0] = 0;
    EXPECT_EQ(message_of_parsing(file), "sample.elf: not an ELF file");
}

// ---- the ELF header

TEST(Malformed, NotElf) {
    ElfFile file = linked();
    file.bytes[1] = 'e';
    EXPECT_PRED2(contains, message_of_parsing(file), "not an ELF file");
    file.bytes.clear();
    EXPECT_PRED2(contains, message_of_parsing(file), "not an ELF file");
}

TEST(Malformed, WrongClass) {
    for (const auto wrong : std::to_array<std::uint8_t>({ELFCLASSNONE, ELFCLASS32, 3})) {
        ElfFile file = linked();
        file.edit_header([&](Elf64_Ehdr& header) { header.e_ident[EI_CLASS] = wrong; });
        EXPECT_PRED2(contains, message_of_parsing(file), "not a 64-bit little-endian ELF file");
    }
}

TEST(Malformed, WrongEndianness) {
    for (const auto wrong : std::to_array<std::uint8_t>({ELFDATANONE, ELFDATA2MSB})) {
        ElfFile file = linked();
        file.edit_header([&](Elf64_Ehdr& header) { header.e_ident[EI_DATA] = wrong; });
        EXPECT_PRED2(contains, message_of_parsing(file), "not a 64-bit little-endian ELF file");
    }
}

TEST(Malformed, WrongMachine) {
    ElfFile file = linked();
    file.edit_header([](Elf64_Ehdr& header) { header.e_machine = EM_AARCH64; });
    EXPECT_PRED2(contains, message_of_parsing(file), "another machine than x86-64 (e_machine 183)");
}

TEST(Malformed, CoreFile) {
    ElfFile file = linked();
    file.edit_header([](Elf64_Ehdr& header) { header.e_type = ET_CORE; });
    EXPECT_PRED2(contains, message_of_parsing(file),
                 "neither an object file nor a linked program (e_type 4)");
}

TEST(Malformed, TruncatedHeader) {
    ElfFile file = linked();
    file.bytes.resize(sizeof(Elf64_Ehdr) - 1);
    EXPECT_PRED2(contains, message_of_parsing(file), "ends inside the ELF header");
}

// ---- the section headers

TEST(Malformed, NoSectionHeaders) {
    ElfFile file = linked();
    file.edit_header([](Elf64_Ehdr& header) {
        header.e_shoff = 0;
        header.e_shnum = 0;
        header.e_shstrndx = SHN_UNDEF;
    });
    EXPECT_PRED2(contains, message_of_parsing(file), "has no section headers");
}

// Not "no section headers": the file has lost its end.
TEST(Malformed, SectionHeadersOutsideTheFile) {
    const ElfFile good = linked();
    const std::uint64_t size = good.bytes.size();
    for (const std::uint64_t offset :
         {size - sizeof(Elf64_Shdr), size - 1, size, size + 1, std::uint64_t{1} << 63U,
          highest_address - sizeof(Elf64_Shdr) + 1, highest_address}) {
        ElfFile file = good;
        file.edit_header([&](Elf64_Ehdr& header) { header.e_shoff = offset; });
        SCOPED_TRACE(offset);
        EXPECT_PRED2(contains, message_of_parsing(file), "section headers lie outside the file");
    }
}

TEST(Malformed, MoreSectionsThanTheFileHolds) {
    for (const std::uint16_t count :
         {std::uint16_t(linked().index_of(".shstrtab") + 2), std::uint16_t{SHN_LORESERVE - 1}}) {
        ElfFile file = linked();
        file.edit_header([&](Elf64_Ehdr& header) { header.e_shnum = count; });
        EXPECT_PRED2(contains, message_of_parsing(file), "section headers lie outside the file");
    }
}

// With e_shnum zero the first section header has the count.
TEST(Malformed, AbsurdSectionCount) {
    for (const std::uint64_t count :
         {std::uint64_t{1} << 21U, std::uint64_t{1} << 32U, (std::uint64_t{1} << 58U) + 1, highest_address}) {
        ElfFile file = linked();
        file.edit_header([](Elf64_Ehdr& header) { header.e_shnum = 0; });
        file.edit_section("", [&](Elf64_Shdr& first) { first.sh_size = count; });
        SCOPED_TRACE(count);
        EXPECT_PRED2(contains, message_of_parsing(file), "section headers lie outside the file");
    }
}

TEST(Malformed, SectionContentsOutsideTheFile) {
    const std::uint64_t size = linked().bytes.size();
    const std::pair<std::uint64_t, std::uint64_t> outside[] = {
        {size, 1},
        {size - 1, 2},
        {size + 1, 0},
        {0, size + 1},
        {highest_address, 1},
        {highest_address, 2},
        {8, highest_address},
        {16, highest_address - 7},
    };
    for (const auto& [offset, length] : outside) {
        for (const char* name : {".text", "previrt_sites", ".symtab", ".strtab", ".shstrtab"}) {
            ElfFile file = linked();
            file.edit_section(name, [&](Elf64_Shdr& section) {
                section.sh_offset = offset;
                section.sh_size = length;
            });
            SCOPED_TRACE(name);
            EXPECT_PRED2(contains, message_of_parsing(file),
                         "contents lie outside the file (offset " + std::to_string(offset));
        }
    }
}

TEST(Malformed, SectionWithoutContentsNeedsNone) {
    ElfBuilder builder = linked_builder();
    builder.add(ElfSection{.name = ".bss",
                           .type = SHT_NOBITS,
                           .flags = SHF_ALLOC | SHF_WRITE,
                           .address = 0xffff'ffff'8200'0000,
                           .bytes = {}});
    ElfFile file = builder.build();
    file.edit_section(".bss", [](Elf64_Shdr& section) {
        section.sh_offset = highest_address;
        section.sh_size = 0x10000000;
    });
    EXPECT_EQ(read_sites(file.bytes).size(), 2U);
}

TEST(Malformed, AddressesWrapAround) {
    for (const std::uint64_t address : {highest_address, highest_address - text_size + 1}) {
        ElfFile file = linked();
        file.edit_section(".text", [&](Elf64_Shdr& section) { section.sh_addr = address; });
        EXPECT_PRED2(contains, message_of_parsing(file), ".text: its addresses wrap around");
    }
}

TEST(Malformed, NoTableOfSectionNames) {
    const std::uint16_t count = static_cast<std::uint16_t>(linked().index_of(".shstrtab") + 1);
    const std::uint16_t not_a_string_table = 1;
    for (const std::uint16_t index : {count, std::uint16_t{SHN_LORESERVE - 1}, std::uint16_t{SHN_UNDEF},
                                      not_a_string_table, std::uint16_t{SHN_ABS}}) {
        ElfFile file = linked();
        file.edit_header([&](Elf64_Ehdr& header) { header.e_shstrndx = index; });
        SCOPED_TRACE(index);
        EXPECT_PRED2(contains, message_of_parsing(file), "section 1: its name lies outside the string table");
    }
}

TEST(Malformed, SectionNameOutsideTheStringTable) {
    ElfFile file = linked();
    file.edit_section(".text", [](Elf64_Shdr& section) { section.sh_name = 0xffffffff; });
    EXPECT_PRED2(contains, message_of_parsing(file), "section 1: its name lies outside the string table");
}

TEST(Malformed, UnterminatedSectionName) {
    ElfFile file = linked();
    file.edit_section(".shstrtab", [](Elf64_Shdr& section) { section.sh_size = 4; });
    EXPECT_PRED2(contains, message_of_parsing(file), "section 1: its name lies outside the string table");
}

TEST(Malformed, OverlappingCode) {
    EXPECT_PRED2(contains,
                 message_of_parsing(linked_of_two_sections(ElfBuilder::text_address + text_size - 1)),
                 ".text and .init.text overlap");
    EXPECT_PRED2(contains, message_of_parsing(linked_of_two_sections(ElfBuilder::text_address)), "overlap");
    EXPECT_NO_THROW(
        parse_kernel_file(path, linked_of_two_sections(ElfBuilder::text_address + text_size).bytes));
}

// An address of code must name bytes of code: section_at() would find the data, or nothing behind it.
TEST(Malformed, DataOverCode) {
    for (const std::uint64_t offset : {std::uint64_t{0}, first_site + 2, text_size - 1}) {
        ElfBuilder builder = linked_builder();
        builder.add_data(".data", ElfBuilder::text_address + offset, {0});
        EXPECT_PRED2(contains, message_of_parsing(builder.build()), "overlap");
    }
}

// A name from the file must not break the line of the message.
TEST(Malformed, LineBreakInSectionName) {
    ElfFile file = linked();
    file.bytes[file.offset_of(".shstrtab") + 3] = '\n'; // of ".text"
    file.edit_section(".text", [](Elf64_Shdr& section) { section.sh_addr = highest_address; });
    message_of_parsing(file);
}

TEST(Malformed, LineBreakInSymbolName) {
    ElfFile file = linked();
    file.bytes[file.offset_of(".strtab") + 2] = '\n'; // of "code"
    file.edit<SiteRecord>("previrt_sites", 0, [](SiteRecord& record) { record.kind = 0; });
    message_of([&] { read_sites(file.bytes); });
}

// ---- symbols and relocations

TEST(Malformed, SymbolTableOfBrokenSize) {
    for (ElfFile file : {linked(), object()}) {
        file.edit_section(".symtab", [](Elf64_Shdr& section) { --section.sh_size; });
        EXPECT_PRED2(contains, message_of_parsing(file), "no whole number of entries");
    }
}

TEST(Malformed, UnterminatedSymbolName) {
    ElfFile file = linked();
    file.edit_section(".strtab", [](Elf64_Shdr& section) { section.sh_size = 3; });
    EXPECT_PRED2(contains, message_of_parsing(file), "its name lies outside the string table");
}

TEST(Malformed, SymbolTableWithoutNames) {
    for (const std::uint32_t link : {0U, 1U, 0xffffffffU}) {
        ElfFile file = linked();
        file.edit_section(".symtab", [&](Elf64_Shdr& section) { section.sh_link = link; });
        EXPECT_PRED2(contains, message_of_parsing(file), "its name lies outside the string table");
    }
}

// A symbol is nobody's where its section is none; its name is then not looked at.
TEST(Malformed, SymbolOfNoSection) {
    for (const auto section :
         std::to_array<std::size_t>({SHN_UNDEF, 0x1000, SHN_ABS, SHN_COMMON, SHN_XINDEX})) {
        ElfBuilder builder = linked_builder();
        const std::size_t symbol = builder.add(ElfSymbol{"lost", section, 0, 0, STT_OBJECT});
        ElfFile file = builder.build();
        file.edit<Elf64_Sym>(".symtab", symbol, [](Elf64_Sym& entry) { entry.st_name = 0xffffff; });
        const KernelFile parsed = parse_kernel_file(path, file.bytes);
        ASSERT_EQ(parsed.elf.symbols().size(), 1U) << section;
        EXPECT_EQ(parsed.elf.symbols()[0].name, "code");
    }
}

TEST(Malformed, ExtendedSectionIndex) {
    ElfBuilder builder = linked_builder();
    const std::size_t symbol = builder.add(ElfSymbol{"far", SHN_XINDEX, 0x1234, 0, STT_FUNC});
    const Buffer indices((symbol + 1) * sizeof(std::uint32_t));
    builder.add(ElfSection{.name = "indices", .type = SHT_SYMTAB_SHNDX, .bytes = indices});
    ElfFile file = builder.build();
    file.edit_section("indices", [&](Elf64_Shdr& section) {
        section.sh_link = static_cast<std::uint32_t>(file.index_of(".symtab"));
    });

    const auto symbols = [&] { return parse_kernel_file(path, file.bytes).elf.symbols().size(); };
    EXPECT_EQ(symbols(), 1U); // in section 0
    file.edit<std::uint32_t>("indices", symbol, [](std::uint32_t& index) { index = 0xffffffff; });
    EXPECT_EQ(symbols(), 1U);
    file.edit<std::uint32_t>("indices", symbol, [](std::uint32_t& index) { index = 1; });
    EXPECT_EQ(symbols(), 2U);
    file.edit_section("indices", [](Elf64_Shdr& section) { section.sh_size -= 4; });
    EXPECT_EQ(symbols(), 1U);
}

constexpr const char* site_relocations = ".relaprevirt_sites";

TEST(Malformed, RelocationOutsideItsSection) {
    for (const std::uint64_t offset : {2 * sizeof(SiteRecord), std::size_t{1} << 40U, highest_address}) {
        ElfFile file = object();
        file.edit<Elf64_Rela>(site_relocations, 1, [&](Elf64_Rela& entry) { entry.r_offset = offset; });
        EXPECT_PRED2(contains, message_of_parsing(file),
                     "relocation 1 lies outside its section or names no symbol");
    }
}

TEST(Malformed, RelocationNamesNoSymbol) {
    for (const std::uint64_t symbol : {100U, 0xffffffffU}) {
        ElfFile file = object();
        file.edit<Elf64_Rela>(site_relocations, 0,
                              [&](Elf64_Rela& entry) { entry.r_info = ELF64_R_INFO(symbol, R_X86_64_PC32); });
        EXPECT_PRED2(contains, message_of_parsing(file),
                     "relocation 0 lies outside its section or names no symbol");
    }
}

TEST(Malformed, RelocationsOfBrokenSize) {
    ElfFile file = object();
    file.edit_section(site_relocations, [](Elf64_Shdr& section) { --section.sh_size; });
    EXPECT_PRED2(contains, message_of_parsing(file), "no whole number of relocations");
}

TEST(Malformed, RelocationsWithoutSectionOrSymbols) {
    ElfFile file = object();
    const auto no_symbols = static_cast<std::uint32_t>(file.index_of(".text"));
    for (const std::uint32_t link : {0U, no_symbols, 0xffffffffU}) {
        ElfFile damaged = file;
        damaged.edit_section(site_relocations, [&](Elf64_Shdr& section) { section.sh_link = link; });
        EXPECT_PRED2(contains, message_of_parsing(damaged),
                     "relocations of no section or without a symbol table");
    }
    file.edit_section(site_relocations, [](Elf64_Shdr& section) { section.sh_info = 0xffffffff; });
    EXPECT_PRED2(contains, message_of_parsing(file), "relocations of no section or without a symbol table");
}

// ---- the table of sites

TEST(Malformed, TableOfBrokenSize) {
    for (ElfFile file : {linked(), object()}) {
        file.edit_section("previrt_sites", [](Elf64_Shdr& section) { --section.sh_size; });
        if (parse_kernel_file(path, file.bytes).elf.relocatable()) {
            file.edit<Elf64_Rela>(site_relocations, 1, [](Elf64_Rela& entry) { entry.r_offset = 0; });
        }
        EXPECT_PRED2(contains, message_of_table(file),
                     "previrt_sites: its size 15 is no whole number of records");
    }
}

TEST(Malformed, RecordWithoutRelocation) {
    constexpr const char* words = "record 1: no relocation says where its site is";
    ElfFile file = object();
    file.edit<Elf64_Rela>(site_relocations, 1, [](Elf64_Rela& entry) { entry.r_offset += 4; });
    EXPECT_PRED2(contains, message_of_table(file), words);

    file = object();
    file.edit<Elf64_Rela>(site_relocations, 1, [](Elf64_Rela& entry) {
        entry.r_info = ELF64_R_INFO(ELF64_R_SYM(entry.r_info), R_X86_64_64);
    });
    EXPECT_PRED2(contains, message_of_table(file), words);

    file = object(); // the first symbol is that of no section
    file.edit<Elf64_Rela>(site_relocations, 1,
                          [](Elf64_Rela& entry) { entry.r_info = ELF64_R_INFO(0UL, R_X86_64_PC32); });
    EXPECT_PRED2(contains, message_of_table(file), words);
}

TEST(Malformed, RecordOutsideCode) {
    for (const std::int32_t distance : {0x100, -0x2000'0000, std::numeric_limits<std::int32_t>::max()}) {
        ElfFile file = linked();
        file.edit<SiteRecord>("previrt_sites", 1, [&](SiteRecord& record) { record.site = distance; });
        const std::string message = message_of_table(file);
        EXPECT_PRED2(contains, message, "record 1 for address 0x");
        EXPECT_PRED2(contains, message, "not inside an executable section");
    }
}

TEST(Malformed, RecordOfData) {
    ElfFile file = linked();
    file.edit<SiteRecord>("previrt_sites", 1, [](SiteRecord& record) { record.site = -8; });
    const std::string message = message_of_table(file);
    EXPECT_PRED2(contains, message, "record 1 for previrt_sites+0x0");
    EXPECT_PRED2(contains, message, "not inside an executable section");

    file = linked();
    file.edit_section(".text", [](Elf64_Shdr& section) { section.sh_flags = SHF_ALLOC; });
    EXPECT_PRED2(contains, message_of_table(file), "record 0 for .text+0x1 (code+0x1): ");
}

TEST(Malformed, ATemplateAmongConstantsIsNot) {
    ElfBuilder builder(ET_EXEC);
    builder.add_code(".rodata", ElfBuilder::text_address, text);
    builder.add_site_table(in_order);
    builder.add_note();
    ElfFile file = builder.build();
    file.edit_section(".rodata", [](Elf64_Shdr& section) { section.sh_flags = SHF_ALLOC; });
    const KernelFile kernel = parse_kernel_file(path, file.bytes);
    EXPECT_EQ(read_site_table(kernel, Places(kernel.elf)).size(), 2U);
}

TEST(Malformed, RecordOutsideCodeInAnObject) {
    for (const std::int64_t addend :
         {std::int64_t{0x100}, std::int64_t{-1}, std::numeric_limits<std::int64_t>::min()}) {
        ElfFile file = object();
        file.edit<Elf64_Rela>(site_relocations, 0, [&](Elf64_Rela& entry) { entry.r_addend = addend; });
        file.edit<Elf64_Rela>(site_relocations, 1, [&](Elf64_Rela& entry) { entry.r_addend = addend; });
        EXPECT_PRED2(contains, message_of_table(file), "record 0 for ");
    }
}

TEST(Malformed, SitePastTheEndOfItsSection) {
    ElfFile file = linked();
    file.edit_section(".text", [](Elf64_Shdr& section) { section.sh_size = second_site + 4; });
    const std::string message = message_of_table(file);
    EXPECT_PRED2(contains, message, "record 1 for .text+0x9 (code+0x9)");
    EXPECT_PRED2(contains, message, "not inside an executable section");
}

TEST(Malformed, OverlappingRecords) {
    for (const auto type : std::to_array<std::uint16_t>({ET_EXEC, ET_REL})) {
        const std::vector<RecordedSite> twice{
            {first_site, cli_record}, {second_site, sti_record}, {second_site, sti_record}};
        const ElfFile file = make_elf_with_sites(type, text, twice).build();
        const std::string message = message_of_table(file);
        EXPECT_PRED2(contains, message, "record 2 for .text+0x9 (code+0x9): ");
        EXPECT_PRED2(contains, message, "overlaps");
    }
}

TEST(Malformed, UnsortedLinkedTable) {
    const std::string message = message_of_table(make_elf_with_sites(ET_EXEC, text, out_of_order).build());
    EXPECT_PRED2(contains, message, "record 1 for .text+0x1");
    EXPECT_PRED2(contains, message, "previrt sort-sites sample.elf");
}

TEST(Malformed, UnsortedObject) {
    const std::string message = message_of_table(make_elf_with_sites(ET_REL, text, out_of_order).build());
    EXPECT_PRED2(contains, message, "record 1 for .text+0x1");
    EXPECT_PRED2(contains, message, "before that of the record in front of it");
    EXPECT_FALSE(contains(message, "sort-sites")); // which refuses objects
}

TEST(Malformed, RecordsOfAnObjectAreSortedWithinEachSection) {
    const std::vector<RecordedSite> in_turn{{first_site, cli_record, 2},
                                            {first_site, cli_record, 1},
                                            {second_site, sti_record, 2},
                                            {second_site, sti_record, 1}};
    const std::vector<Site> sites = read_sites(object_of_two_sections(in_turn).bytes);
    ASSERT_EQ(sites.size(), 4U);
    EXPECT_TRUE(std::ranges::is_sorted(addresses(sites)));

    const std::vector<RecordedSite> not_in_turn{
        {second_site, sti_record, 2}, {first_site, cli_record, 1}, {first_site, cli_record, 2}};
    EXPECT_PRED2(contains, message_of_table(object_of_two_sections(not_in_turn)),
                 "record 2 for .init.text+0x1");
}

// The number says where in the table, not where in the order of addresses.
TEST(Malformed, RecordNumberInAnObjectIsThatOfTheTable) {
    SiteRecord unknown = sti_record;
    unknown.kind = 0;
    const std::vector<RecordedSite> sites{{first_site, cli_record, 2},
                                          {first_site, cli_record, 1},
                                          {second_site, unknown, 2},
                                          {second_site, sti_record, 1}};
    const std::string message = message_of_table(object_of_two_sections(sites));
    EXPECT_PRED2(contains, message, "for .init.text+0x9: its kind is unknown");
    EXPECT_PRED2(contains, message, "record 2 ");
}

TEST(Malformed, UnknownKind) {
    ElfFile file = linked();
    file.edit<SiteRecord>("previrt_sites", 1, [](SiteRecord& record) { record.kind = 0xff; });
    EXPECT_PRED2(contains, message_of_table(file), "record 1 for .text+0x9 (code+0x9): its kind is unknown");
}

TEST(Malformed, ReservedForm) {
    for (const unsigned form : {0x80U, 0x05U, 0x28U}) {
        ElfFile file = linked();
        file.edit<SiteRecord>("previrt_sites", 0,
                              [&](SiteRecord& record) { record.form = static_cast<std::uint8_t>(form); });
        EXPECT_PRED2(contains, message_of_table(file),
                     "record 0 for .text+0x1 (code+0x1): its operand form has a reserved value");
    }
}

TEST(Malformed, BytesOfAnotherKind) {
    ElfFile file = linked();
    file.edit<std::uint8_t>(".text", first_site + 7, [](std::uint8_t& byte) { byte = 0xfb; });
    EXPECT_PRED2(contains, message_of_table(file),
                 "record 0 for .text+0x1 (code+0x1): the bytes at its site");
    file.edit<std::uint8_t>(".text", first_site, [](std::uint8_t& byte) { byte = 0x90; });
    EXPECT_PRED2(contains, message_of_table(file),
                 "record 0 for .text+0x1 (code+0x1): the padding at its site");
}

// ---- the note

constexpr const char* note = ".note.previrt";
constexpr std::size_t name_size_word = 0;
constexpr std::size_t description_size_word = 1;
constexpr std::size_t version_word = 5;
constexpr std::size_t record_size_word = 6;

TEST(Malformed, NoteMissing) {
    ElfBuilder builder(ET_EXEC);
    builder.add_code(".text", ElfBuilder::text_address, text);
    builder.add_site_table(in_order);
    EXPECT_PRED2(contains, message_of_table(builder.build()), "no previrt note (.note.previrt)");
}

TEST(Malformed, NoteOfAnotherVersion) {
    ElfFile file = linked();
    file.edit<std::uint32_t>(note, version_word, [](std::uint32_t& version) { version = abi_version + 1; });
    EXPECT_PRED2(contains, message_of_table(file), "ABI version " + std::to_string(abi_version + 1));

    file = linked();
    file.edit<std::uint32_t>(note, record_size_word, [](std::uint32_t& size) { size = 12; });
    EXPECT_PRED2(contains, message_of_table(file), "12"); // the version is the same
}

// Not even of two notes, as when objects of two versions are linked.
TEST(Malformed, NoteOfAnotherVersionBesideAGoodOne) {
    const auto description = std::to_array<std::uint32_t>({abi_version + 1, sizeof(SiteRecord)});
    ElfBuilder builder = linked_builder();
    builder.add(ElfSection{.name = ".note.other",
                           .type = SHT_NOTE,
                           .flags = SHF_ALLOC,
                           .address = ElfBuilder::note_address + 0x100,
                           .bytes = ElfBuilder::note("previrt", description)});
    EXPECT_PRED2(contains, message_of_table(builder.build()), "ABI version");
}

TEST(Malformed, NoteOfDamagedSizes) {
    for (const std::uint32_t size : {7U, 0x100U, 0x7fffffffU, 0xfffffffdU, 0xffffffffU}) {
        ElfFile file = linked();
        file.edit<std::uint32_t>(note, name_size_word, [&](std::uint32_t& word) { word = size; });
        EXPECT_PRED2(contains, message_of_table(file), "no previrt note");

        file = linked();
        file.edit<std::uint32_t>(note, description_size_word, [&](std::uint32_t& word) { word = size; });
        EXPECT_PRED2(contains, message_of_table(file), " note");
    }
    for (std::size_t size = 0; size < 28; ++size) {
        ElfFile file = linked();
        file.edit_section(note, [&](Elf64_Shdr& section) { section.sh_size = size; });
        EXPECT_PRED2(contains, message_of_table(file), "no previrt note");
    }
    ElfFile file = linked();
    file.edit<std::uint32_t>(note, description_size_word, [](std::uint32_t& word) { word = 4; });
    EXPECT_PRED2(contains, message_of_table(file), "the previrt note has a wrong size");
}

TEST(Malformed, NoteAmongOthersIsFound) {
    const auto words = std::to_array<std::uint32_t>({1, 2, 3});
    const auto description = std::to_array<std::uint32_t>({abi_version, sizeof(SiteRecord)});
    ElfBuilder builder(ET_EXEC);
    builder.add_code(".text", ElfBuilder::text_address, text);
    builder.add_site_table(in_order);
    Buffer notes = ElfBuilder::note("GNU", words);
    for (const Buffer& more :
         {ElfBuilder::note("a name that needs padding", words), ElfBuilder::note("previrt", description)}) {
        notes.insert(notes.end(), more.begin(), more.end());
    }
    builder.add(ElfSection{.name = ".notes",
                           .type = SHT_NOTE,
                           .flags = SHF_ALLOC,
                           .address = ElfBuilder::note_address,
                           .bytes = notes});
    EXPECT_EQ(read_sites(builder.build().bytes).size(), 2U);
}

// ---- sort_site_table

TEST(Malformed, SortingMakesATableGood) {
    const ElfFile unsorted = make_elf_with_sites(ET_EXEC, text, out_of_order).build();
    const Buffer sorted = sort_site_table(parse_kernel_file(path, unsorted.bytes));
    EXPECT_EQ(sorted, linked().bytes); // only the table is another
    EXPECT_EQ(addresses(read_sites(sorted)), addresses(read_sites(linked().bytes)));
    EXPECT_EQ(sort_site_table(parse_kernel_file(path, sorted)), sorted);
}

TEST(Malformed, SortingRefusesWhatIsNotLinked) {
    EXPECT_PRED2(contains, message_of([] { sort_site_table(parse_kernel_file(path, object().bytes)); }),
                 "only the table of a linked ELF file can be sorted");
    const KernelFile packed{path, Compression::gzip, ElfImage::parse(linked().bytes)};
    EXPECT_PRED2(contains, message_of([&] { sort_site_table(packed); }),
                 "only the table of a linked ELF file can be sorted");
}

TEST(Malformed, SortingRefusesABrokenTable) {
    ElfFile file = linked();
    file.edit_section("previrt_sites", [](Elf64_Shdr& section) { --section.sh_size; });
    EXPECT_EQ(message_of([&] { sort_site_table(parse_kernel_file(path, file.bytes)); }),
              "sample.elf: previrt_sites: its size 15 is no whole number of records");
}

// A distance below address zero reaches the end of the address space, whose record comes last, further away.
TEST(Malformed, SortingRefusesADistanceThatDoesNotFit) {
    ElfBuilder builder(ET_EXEC);
    builder.add_code(".text", 0x1000, text);
    builder.add_site_table(in_order, 0x2000);
    ElfFile file = builder.build();
    file.edit<SiteRecord>("previrt_sites", 0,
                          [](SiteRecord& record) { record.site = std::numeric_limits<std::int32_t>::min(); });
    EXPECT_PRED2(contains, message_of([&] { sort_site_table(parse_kernel_file(path, file.bytes)); }),
                 "more than 2 GiB");
}

} // namespace

} // namespace previrt
