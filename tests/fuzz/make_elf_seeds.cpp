// SPDX-License-Identifier: BSD-2-Clause
// Writes the seeds of fuzz_elf to the directory given: small valid files with records, code and relocations.
#include "host/file.hpp"
#include "host/input_error.hpp"
#include "tests/fuzz/seeds.hpp"
#include "tests/unit/make_elf.hpp"

#include <string>
#include <vector>

namespace previrt {

namespace {

using Buffer = std::vector<std::uint8_t>;

constexpr std::uint8_t no_operands = encode_form(Shape::implicit, 0, false);
constexpr std::uint64_t second_address = ElfBuilder::text_address + 0x1000;
constexpr std::uint64_t data_address = ElfBuilder::text_address + 0x2000;

// One site of each kind of padding, and one of each form of operand.
const Buffer sites_text{
    0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0xfa, // 0x00 cli
    0x2e, 0x2e, 0x0f, 0x22, 0xd8,                   // 0x08 mov %rax, %cr3
    0x0f, 0x01, 0x15, 0x10, 0x00, 0x00, 0x00,       // 0x0d lgdt 0x10(%rip)
    0xf3, 0x6e, 0x0f, 0x1f, 0x40, 0x00,             // 0x14 rep outsb
    0x2e, 0x2e, 0x2e, 0xe4, 0x60,                   // 0x1a in $0x60, %al
    0x2e, 0x2e, 0x2e, 0xf3, 0x48, 0x0f, 0xae, 0xc0, // 0x1f rdfsbase %rax
    0x2e, 0x2e, 0x48, 0x89, 0x0f,                   // 0x27 mov %rcx, (%rdi): page table
    0x48, 0xcf, 0xcc, 0xcc, 0xcc,                   // 0x2c iretq
};
const std::vector<RecordedSite> sites{
    {0x00, make_record(SiteKind::cli, no_operands, 0, 7, 1)},
    {0x08, make_record(SiteKind::mov_to_control, encode_form(Shape::registers, 8, false), 0x30, 2, 3)},
    {0x0d, make_record(SiteKind::lgdt, encode_form(Shape::memory, 0, false), 0, 0, 7)},
    {0x14, make_record(SiteKind::outs, encode_form(Shape::dx, 1, true), 0, 4, 2)},
    {0x1a, make_record(SiteKind::in, encode_form(Shape::immediate, 1, false), 0, 3, 2)},
    {0x1f, make_record(SiteKind::rdfsbase, encode_form(Shape::registers, 8, false), 0, 3, 5)},
    {0x27, make_record(SiteKind::page_table_write, encode_form(Shape::memory, 8, false), 1, 2, 3)},
    {0x2c, make_record(SiteKind::iret, encode_form(Shape::implicit, 8, false), 0, 3, 2)},
};

// Calls and branches to the other section, a jump table in the text, and a sensitive instruction without
// record.
const Buffer branches_text{
    0xe8, 0x00, 0x00, 0x00, 0x00,                   // 0x00 call
    0x74, 0x02,                                     // 0x05 je 0x09
    0x0f, 0x0b,                                     // 0x07 ud2
    0x48, 0x8d, 0x05, 0x00, 0x00, 0x00, 0x00,       // 0x09 lea (%rip), %rax
    0xff, 0x24, 0xc5, 0x00, 0x00, 0x00, 0x00,       // 0x10 jmp *(,%rax,8)
    0x90, 0xf4, 0xc3,                               // 0x17 nop; hlt; ret
    0xf0, 0x0f, 0xb1, 0x0f, 0xeb, 0xf7,             // 0x1a lock cmpxchg; jmp 0x17
    0x17, 0x10, 0x00, 0x81, 0xff, 0xff, 0xff, 0xff, // 0x20 table of addresses in the second section
    0x18, 0x10, 0x00, 0x81, 0xff, 0xff, 0xff, 0xff, 0x00, 0x00, 0xcc, 0xcc, 0x90, 0x90, 0x90, 0x90, // fill
    0x0f, 0xa2, 0x0f, 0x31, 0xc3, // cpuid; rdtsc; ret: nothing points to it
};

ElfFile with_records(std::uint16_t type) {
    return make_elf_with_sites(type, sites_text, sites).build();
}

ElfFile with_unsorted_records() {
    const std::vector<RecordedSite> reversed(sites.rbegin(), sites.rend());
    return make_elf_with_sites(ET_EXEC, sites_text, reversed).build();
}

ElfFile with_branches(std::uint16_t type, bool functions) {
    ElfBuilder builder(type);
    const std::size_t first = builder.add_code(".text", ElfBuilder::text_address, sites_text);
    const std::size_t second = builder.add_code(".init.text", second_address, branches_text);
    const std::size_t data = builder.add_data(".data", data_address, Buffer(16));
    builder.add_site_table(sites);
    builder.add_note();
    const unsigned char symbol_type = functions ? STT_FUNC : STT_NOTYPE;
    const std::size_t target = builder.add(ElfSymbol{"first", first, 0, sites_text.size(), symbol_type});
    builder.add(ElfSymbol{"second", second, 0, 0x20, symbol_type});
    builder.add(ElfSymbol{"table", second, 0x20, 16, STT_OBJECT});
    const std::size_t elsewhere = builder.add(ElfSymbol{"elsewhere", SHN_UNDEF, 0, 0, STT_NOTYPE});
    if (type == ET_REL) {
        builder.add(ElfRelocation{second, 0x01, elsewhere, R_X86_64_PLT32, -4});
        builder.add(ElfRelocation{second, 0x0c, target, R_X86_64_PC32, -4});
        builder.add(ElfRelocation{second, 0x13, builder.symbol_of_section(second), R_X86_64_32S, 0x20});
        builder.add(ElfRelocation{second, 0x20, builder.symbol_of_section(second), R_X86_64_64, 0x17});
        builder.add(ElfRelocation{second, 0x28, builder.symbol_of_section(second), R_X86_64_64, 0x18});
        builder.add(ElfRelocation{data, 0x08, target, R_X86_64_64, 0x08});
    }
    return builder.build();
}

} // namespace

void write_seeds(const std::string& directory) {
    write_file(directory + "/linked-records", with_records(ET_EXEC).bytes);
    write_file(directory + "/linked-unsorted", with_unsorted_records().bytes);
    write_file(directory + "/linked-branches", with_branches(ET_EXEC, true).bytes);
    write_file(directory + "/linked-no-functions", with_branches(ET_EXEC, false).bytes);
    write_file(directory + "/object-records", with_records(ET_REL).bytes);
    write_file(directory + "/object-branches", with_branches(ET_REL, true).bytes);
    write_file(directory + "/object-no-functions", with_branches(ET_REL, false).bytes);
}

} // namespace previrt
