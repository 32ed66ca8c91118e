// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "tests/unit/make_elf.hpp"

namespace previrt {

// A kernel linked as Linux is: in the last 2 GiB, a segment for each section, its entry physical. Behind it
// in a bzImage stands a table of relocations.

inline constexpr std::uint64_t start_kernel_map = 0xffff'ffff'8000'0000;
inline constexpr std::uint64_t linux_text = ElfBuilder::text_address;
inline constexpr std::uint64_t linux_data = 0xffff'ffff'81c0'0000;
inline constexpr std::uint64_t linux_bss = 0xffff'ffff'81e0'0000;
inline constexpr std::uint64_t linux_bss_size = 0x3000;

constexpr std::uint64_t physical(std::uint64_t address) {
    return address - start_kernel_map;
}

struct LinuxContents {
    std::vector<std::uint8_t> text;
    std::vector<std::uint8_t> data;
    std::vector<RecordedSite> sites;
};

inline std::vector<Elf64_Phdr> linux_segments(const ElfFile& file, const LinuxContents& contents) {
    const auto segment = [&](const char* section, std::uint64_t address, std::uint64_t size) {
        Elf64_Phdr header = load_segment(address, file.offset_of(section), size, size);
        header.p_paddr = physical(address);
        return header;
    };
    std::vector<Elf64_Phdr> segments{
        segment(".text", linux_text, contents.text.size()),
        segment("previrt_sites", ElfBuilder::site_table_address, contents.sites.size() * sizeof(SiteRecord)),
        segment(".note.previrt", ElfBuilder::note_address, 28),
        segment(".data", linux_data, contents.data.size()),
        segment(".bss", linux_bss, linux_bss_size),
        segment(".note.previrt", ElfBuilder::note_address, 28),
        {.p_type = PT_GNU_STACK,
         .p_flags = PF_R | PF_W,
         .p_offset = 0,
         .p_vaddr = 0,
         .p_paddr = 0,
         .p_filesz = 0,
         .p_memsz = 0,
         .p_align = 0},
    };
    segments[4].p_filesz = 0;
    segments[5].p_type = PT_NOTE;
    return segments;
}

inline ElfBuilder linux_builder(const LinuxContents& contents) {
    ElfBuilder builder(ET_EXEC);
    builder.add_code(".text", linux_text, contents.text);
    builder.add_site_table(contents.sites);
    builder.add_note();
    builder.add_data(".data", linux_data, contents.data);
    builder.add(ElfSection{.name = ".bss",
                           .type = SHT_NOBITS,
                           .flags = SHF_ALLOC | SHF_WRITE,
                           .address = linux_bss,
                           .bytes = std::vector<std::uint8_t>(linux_bss_size)});
    return builder;
}

inline ElfFile make_linux_sections(const LinuxContents& contents) {
    return linux_builder(contents).build();
}

inline std::vector<std::uint8_t> make_linux(const LinuxContents& contents) {
    const ElfFile file = make_linux_sections(contents);
    return with_segments(file, linux_segments(file, contents), physical(linux_text));
}

// As make_linux, for several processors: the data of each are linked at 0, and loaded behind .bss.
inline constexpr std::uint64_t linux_processor_data = 0xffff'ffff'81e0'4000;

inline std::vector<std::uint8_t> make_smp_linux(const LinuxContents& contents,
                                                const std::vector<std::uint8_t>& processor_data) {
    ElfBuilder builder = linux_builder(contents);
    builder.add_data(".data..percpu", 0, processor_data);
    const ElfFile file = builder.build();
    std::vector<Elf64_Phdr> segments = linux_segments(file, contents);
    Elf64_Phdr segment =
        load_segment(0, file.offset_of(".data..percpu"), processor_data.size(), processor_data.size());
    segment.p_paddr = physical(linux_processor_data);
    segments.push_back(segment);
    return with_segments(file, segments, physical(linux_text));
}

struct LinuxRelocations {
    std::vector<std::uint64_t> full_64;
    std::vector<std::uint64_t> inverse_32;
    std::vector<std::uint64_t> signed_32;
};

inline std::vector<std::uint8_t> make_relocation_table(const LinuxRelocations& relocations) {
    std::vector<std::uint8_t> table;
    for (const auto* const list : {&relocations.full_64, &relocations.inverse_32, &relocations.signed_32}) {
        append_value(table, std::uint32_t{0});
        for (const std::uint64_t address : *list) {
            append_value(table, static_cast<std::uint32_t>(address));
        }
    }
    return table;
}

// Every kind of field that can be moved, each in the instruction that has it in a kernel.
inline const LinuxContents linux_sample{
    .text = {0x48, 0xc7, 0xc7, 0x10, 0x00, 0x00, 0x81,                   // 0x00 mov $linux_text + 0x10, %rdi
             0x48, 0x8d, 0x88, 0xff, 0x0f, 0x00, 0x01,                   // 0x07 lea 0x1000fff(%rax), %rcx
             0x48, 0x05, 0x00, 0x00, 0xc0, 0x01,                         // 0x0e add $0x1c00000, %rax
             0x49, 0x81, 0xc0, 0x00, 0x00, 0xe0, 0x01,                   // 0x14 add $0x1e00000, %r8
             0x48, 0x81, 0xf1, 0x00, 0x00, 0x00, 0x00,                   // 0x1b xor $0, %rcx
             0x48, 0xc7, 0xc1, 0x00, 0x00, 0x00, 0x00,                   // 0x22 mov $0, %rcx
             0x48, 0xb8, 0x00, 0x00, 0x00, 0x01, 0x00, 0x00, 0x00, 0x00, // 0x29 movabs $0x1000000, %rax
             0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0xfa,             // 0x33 cli
             0x2e, 0x2e, 0x48, 0x89, 0x8f, 0x00, 0x00, 0xc0, 0x81,       // 0x3b mov %rcx, linux_data(%rdi)
             0xc3},                                                      // 0x44 ret
    .data = {0x10, 0x00, 0x00, 0x81, 0xff, 0xff, 0xff, 0xff,             // 0x00 linux_text + 0x10
             0x67, 0x00, 0xc0, 0x01, 0x00, 0x00, 0x00, 0x00,             // 0x08 physical(linux_data) + 0x67
             0x00, 0x00, 0xe0, 0x81, 0x78, 0x56, 0x34, 0x12},            // 0x10 lower half of linux_bss
    .sites = {
        {0x33, make_record(SiteKind::cli, encode_form(Shape::implicit, 0, false), 0, 7, 1)},
        {0x3b, make_record(SiteKind::page_table_write, encode_form(Shape::memory, 8, false), 1, 2, 7)}}};

inline const LinuxRelocations linux_sample_relocations{
    .full_64 = {linux_text + 0x2b, linux_data, linux_data + 8},
    .inverse_32 = {},
    .signed_32 = {linux_text + 0x03, linux_text + 0x0a, linux_text + 0x10, linux_text + 0x17,
                  linux_text + 0x1e, linux_text + 0x25, linux_text + 0x40, linux_data + 0x10}};

} // namespace previrt
