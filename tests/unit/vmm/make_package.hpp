// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "inplace-vmm/package.hpp"
#include "previrt/site_kinds.hpp"
#include "previrt/site_record.hpp"

#include <cstdint>
#include <cstring>
#include <elf.h>
#include <string_view>
#include <vector>

namespace previrt {

// A package with a kernel of one segment and four sites: well-formed, and small.
struct TinyPackage {
    static constexpr std::size_t kernel_at = 0x1000; // in the package
    static constexpr std::uint64_t address = 0xffffffff81000000;
    static constexpr std::uint64_t physical = 0x100000;
    // In the kernel's file.
    static constexpr std::size_t segment_at = sizeof(Elf64_Ehdr);
    static constexpr std::size_t text_at = 0x100;
    static constexpr std::size_t records_at = 0x180;
    static constexpr std::size_t names_at = 0x1c0;
    static constexpr std::size_t sections_at = 0x200;
    static constexpr unsigned section_count = 4;
    static constexpr std::size_t kernel_bytes = sections_at + (section_count * sizeof(Elf64_Shdr));
    static constexpr std::size_t bytes = kernel_at + kernel_bytes + 64;

    template <typename Value>
    static void put(std::vector<std::uint8_t>& file, std::size_t at, const Value& value) {
        std::memcpy(file.data() + at, &value, sizeof(value));
    }
};

inline std::vector<std::uint8_t> make_tiny_package() {
    using Tiny = TinyPackage;
    constexpr std::size_t kernel = Tiny::kernel_at;
    std::vector<std::uint8_t> file(Tiny::bytes);

    struct TextSite {
        SiteKind kind;
        std::uint8_t offset;
        std::uint8_t lengths;
        std::vector<std::uint8_t> bytes;
    };
    const TextSite sites[] = {
        {SiteKind::cli, 0, 7 << 4 | 1, {0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0x2e, 0xfa}},
        {SiteKind::sti, 8, 4 << 4 | 1, {0x2e, 0x2e, 0x2e, 0x2e, 0xfb}},
        {SiteKind::hlt, 16, 4 << 4 | 1, {0x2e, 0x2e, 0x2e, 0x2e, 0xf4}},
        {SiteKind::iret, 24, 3 << 4 | 2, {0x48, 0xcf, 0xcc, 0xcc, 0xcc}},
    };
    std::size_t record_at = Tiny::records_at;
    for (const TextSite& site : sites) {
        const std::size_t place = Tiny::text_at + site.offset;
        std::memcpy(file.data() + kernel + place, site.bytes.data(), site.bytes.size());
        const unsigned width = site.kind == SiteKind::iret ? 8 : 0;
        const SiteRecord record{.site =
                                    static_cast<std::int32_t>(place) - static_cast<std::int32_t>(record_at),
                                .kind = static_cast<std::uint8_t>(site.kind),
                                .form = encode_form(Shape::implicit, width, false),
                                .operand = 0,
                                .lengths = site.lengths};
        Tiny::put(file, kernel + record_at, record);
        record_at += sizeof(record);
    }

    constexpr std::string_view names("\0.text\0previrt_sites\0", 21);
    std::memcpy(file.data() + kernel + Tiny::names_at, names.data(), names.size());
    Elf64_Ehdr header{};
    std::memcpy(header.e_ident, ELFMAG, SELFMAG);
    header.e_ident[EI_CLASS] = ELFCLASS64;
    header.e_ident[EI_DATA] = ELFDATA2LSB;
    header.e_machine = EM_X86_64;
    header.e_entry = Tiny::address + Tiny::text_at;
    header.e_phoff = Tiny::segment_at;
    header.e_shoff = Tiny::sections_at;
    header.e_phentsize = sizeof(Elf64_Phdr);
    header.e_phnum = 1;
    header.e_shentsize = sizeof(Elf64_Shdr);
    header.e_shnum = Tiny::section_count;
    header.e_shstrndx = 3;
    Tiny::put(file, kernel, header);
    Elf64_Phdr segment{};
    segment.p_type = PT_LOAD;
    segment.p_vaddr = Tiny::address;
    segment.p_paddr = Tiny::physical;
    segment.p_filesz = Tiny::sections_at;
    segment.p_memsz = 0x1000;
    Tiny::put(file, kernel + Tiny::segment_at, segment);
    const auto put_section = [&](unsigned number, unsigned name, std::uint64_t flags, std::size_t at,
                                 std::size_t size) {
        Elf64_Shdr section{};
        section.sh_name = name;
        section.sh_type = SHT_PROGBITS;
        section.sh_flags = flags;
        section.sh_addr = Tiny::address + at;
        section.sh_offset = at;
        section.sh_size = size;
        Tiny::put(file, kernel + Tiny::sections_at + (number * sizeof(section)), section);
    };
    put_section(1, 1, SHF_ALLOC | SHF_EXECINSTR, Tiny::text_at, 0x40);
    put_section(2, 7, SHF_ALLOC, Tiny::records_at, sizeof(SiteRecord) * std::size(sites));
    put_section(3, 0, 0, Tiny::names_at, names.size());

    PackageHeader package{};
    std::memcpy(package.magic, package_magic, sizeof(package_magic));
    package.version = package_version;
    package.bytes = file.size();
    package.guest_memory = std::uint64_t{2} << 20U;
    package.kernel = {.offset = kernel, .bytes = Tiny::kernel_bytes};
    package.setup_header = {.offset = kernel + Tiny::kernel_bytes, .bytes = 16};
    package.initrd = {.offset = package.setup_header.offset + 16, .bytes = 16};
    package.command_line = {.offset = package.initrd.offset + 16, .bytes = 8};
    std::memcpy(file.data() + package.command_line.offset, "quiet", 6);
    Tiny::put(file, 0, package);
    return file;
}

} // namespace previrt
