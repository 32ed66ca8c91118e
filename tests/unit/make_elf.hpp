// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "previrt/site_kinds.hpp"
#include "previrt/site_record.hpp"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <elf.h>
#include <span>
#include <stdexcept>
#include <string>
#include <type_traits>
#include <utility>
#include <vector>

namespace previrt {

// Small x86-64 ELF files for tests: ElfBuilder makes them well-formed, ElfFile::edit damages them.

struct ElfSection {
    std::string name;
    std::uint32_t type = SHT_PROGBITS;
    std::uint64_t flags = 0;
    std::uint64_t address = 0; // of a linked file
    std::vector<std::uint8_t> bytes;
    std::uint32_t link = 0;
    std::uint32_t info = 0;
    std::uint64_t entry_size = 0;
};

struct ElfSymbol {
    std::string name;
    std::size_t section;
    std::uint64_t value;
    std::uint64_t size;
    unsigned char type;
};

struct ElfRelocation {
    std::size_t section; // whose bytes are relocated
    std::uint64_t offset;
    std::size_t symbol;
    std::uint32_t type;
    std::int64_t addend;
};

// One record of the table, and the site it names.
struct RecordedSite {
    std::uint64_t offset; // in its section
    SiteRecord record;    // its distance is filled in
    std::size_t section = 1;
};

template <typename Value>
void append_value(std::vector<std::uint8_t>& bytes, const Value& value) {
    static_assert(std::is_trivially_copyable_v<Value>);
    const std::size_t at = bytes.size();
    bytes.resize(at + sizeof value);
    std::memcpy(bytes.data() + at, &value, sizeof value);
}

inline SiteRecord make_record(SiteKind kind, std::uint8_t form, std::uint8_t operand, unsigned padding,
                              unsigned instruction) {
    return {0, static_cast<std::uint8_t>(kind), form, operand,
            static_cast<std::uint8_t>(padding << 4U | instruction)};
}

// A finished file. Sections keep their numbers and places in it, whatever is done to their headers.
class ElfFile {
public:
    std::vector<std::uint8_t> bytes;

    template <typename Change>
    void edit_header(const Change& change) {
        edit_at<Elf64_Ehdr>(0, change);
    }

    template <typename Change>
    void edit_section(const std::string& name, const Change& change) {
        edit_at<Elf64_Shdr>(section_table_ + (index_of(name) * sizeof(Elf64_Shdr)), change);
    }

    // Entry `index` of a section made of entries.
    template <typename Entry, typename Change>
    void edit(const std::string& section, std::size_t index, const Change& change) {
        edit_at<Entry>(offsets_.at(index_of(section)) + (index * sizeof(Entry)), change);
    }

    [[nodiscard]] std::size_t index_of(const std::string& name) const {
        const auto found = std::ranges::find(names_, name);
        if (found == names_.end()) {
            throw std::logic_error("the file has no section " + name);
        }
        return static_cast<std::size_t>(found - names_.begin());
    }
    [[nodiscard]] std::size_t offset_of(const std::string& name) const { return offsets_.at(index_of(name)); }

private:
    friend class ElfBuilder;

    template <typename Structure, typename Change>
    void edit_at(std::size_t offset, const Change& change) {
        if (offset + sizeof(Structure) > bytes.size()) {
            throw std::logic_error("the file ends before what is to be edited");
        }
        Structure structure;
        std::memcpy(&structure, bytes.data() + offset, sizeof structure);
        change(structure);
        std::memcpy(bytes.data() + offset, &structure, sizeof structure);
    }

    std::vector<std::string> names_; // by section number
    std::vector<std::size_t> offsets_;
    std::size_t section_table_ = 0;
};

inline Elf64_Phdr load_segment(std::uint64_t address, std::uint64_t offset, std::uint64_t file_size,
                               std::uint64_t memory_size, std::uint32_t flags = PF_R | PF_W | PF_X) {
    Elf64_Phdr header{};
    header.p_type = PT_LOAD;
    header.p_flags = flags;
    header.p_offset = offset;
    header.p_filesz = file_size;
    header.p_paddr = address;
    header.p_vaddr = address;
    header.p_memsz = memory_size;
    return header;
}

// The program headers come last in the file.
inline std::vector<std::uint8_t> with_segments(ElfFile file, std::span<const Elf64_Phdr> segments,
                                               std::uint64_t entry) {
    const std::uint64_t table = file.bytes.size();
    for (const Elf64_Phdr& segment : segments) {
        append_value(file.bytes, segment);
    }
    file.edit_header([&](Elf64_Ehdr& header) {
        header.e_phoff = table;
        header.e_phnum = static_cast<std::uint16_t>(segments.size());
        header.e_phentsize = sizeof(Elf64_Phdr);
        header.e_entry = entry;
    });
    return file.bytes;
}

class ElfBuilder {
public:
    static constexpr std::uint64_t text_address = 0xffff'ffff'8100'0000;
    static constexpr std::uint64_t site_table_address = 0xffff'ffff'8180'0000;
    static constexpr std::uint64_t note_address = 0xffff'ffff'81a0'0000;

    // ET_REL or ET_EXEC.
    explicit ElfBuilder(std::uint16_t type) : type_(type) {
        sections_.push_back({.name = "", .type = SHT_NULL, .bytes = {}});
        symbols_.push_back({"", SHN_UNDEF, 0, 0, STT_NOTYPE});
        section_symbols_.push_back(0);
    }

    // The number of the section. Each has a symbol of its own for relocations.
    std::size_t add(ElfSection section) {
        sections_.push_back(std::move(section));
        section_symbols_.push_back(add(ElfSymbol{"", sections_.size() - 1, 0, 0, STT_SECTION}));
        return sections_.size() - 1;
    }

    // The number of the symbol.
    std::size_t add(ElfSymbol symbol) {
        symbols_.push_back(std::move(symbol));
        return symbols_.size() - 1;
    }

    void add(const ElfRelocation& relocation) { relocations_.push_back(relocation); }

    [[nodiscard]] std::size_t symbol_of_section(std::size_t section) const {
        return section_symbols_.at(section);
    }

    std::size_t add_code(const std::string& name, std::uint64_t address, std::vector<std::uint8_t> code) {
        return add(ElfSection{
            .name = name, .flags = SHF_ALLOC | SHF_EXECINSTR, .address = address, .bytes = std::move(code)});
    }

    std::size_t add_data(const std::string& name, std::uint64_t address, std::vector<std::uint8_t> data) {
        return add(ElfSection{
            .name = name, .flags = SHF_ALLOC | SHF_WRITE, .address = address, .bytes = std::move(data)});
    }

    // In the order given.
    std::size_t add_site_table(std::span<const RecordedSite> sites,
                               std::uint64_t address = site_table_address) {
        std::vector<std::uint8_t> bytes;
        for (const RecordedSite& site : sites) {
            SiteRecord record = site.record;
            if (type_ != ET_REL) {
                const std::uint64_t target = sections_.at(site.section).address + site.offset;
                record.site = static_cast<std::int32_t>(target - (address + bytes.size()));
            }
            append_value(bytes, record);
        }
        const std::size_t table =
            add(ElfSection{.name = "previrt_sites", .flags = SHF_ALLOC, .address = address, .bytes = bytes});
        for (std::size_t i = 0; i < sites.size() && type_ == ET_REL; ++i) {
            add(ElfRelocation{table, i * sizeof(SiteRecord), symbol_of_section(sites[i].section),
                              R_X86_64_PC32, static_cast<std::int64_t>(sites[i].offset)});
        }
        return table;
    }

    static std::vector<std::uint8_t> note(const std::string& name,
                                          std::span<const std::uint32_t> description) {
        constexpr std::uint32_t note_type = 1;
        std::vector<std::uint8_t> bytes;
        append_value(bytes, static_cast<std::uint32_t>(name.size() + 1));
        append_value(bytes, static_cast<std::uint32_t>(description.size_bytes()));
        append_value(bytes, note_type);
        bytes.insert(bytes.end(), name.begin(), name.end());
        bytes.resize((bytes.size() + 1 + 3) / 4 * 4);
        for (const std::uint32_t word : description) {
            append_value(bytes, word);
        }
        return bytes;
    }

    std::size_t add_note() {
        const auto description = std::to_array<std::uint32_t>({abi_version, sizeof(SiteRecord)});
        return add(ElfSection{.name = ".note.previrt",
                              .type = SHT_NOTE,
                              .flags = SHF_ALLOC,
                              .address = note_address,
                              .bytes = note("previrt", description)});
    }

    // The sections as added, ".rela" + name for each that is relocated, ".symtab", ".strtab" and ".shstrtab";
    // behind them their headers.
    [[nodiscard]] ElfFile build() const {
        std::vector<ElfSection> sections = sections_;
        append_relocation_sections(sections);
        append_symbol_table(sections);

        ElfFile file;
        file.bytes.resize(sizeof(Elf64_Ehdr));
        const std::vector<Elf64_Shdr> headers = append_contents(file, sections);
        file.section_table_ = file.bytes.size();
        for (const Elf64_Shdr& section_header : headers) {
            append_value(file.bytes, section_header);
        }
        file.edit_header([&](Elf64_Ehdr& header) { header = file_header(file); });
        return file;
    }

private:
    void append_relocation_sections(std::vector<ElfSection>& sections) const {
        for (std::size_t target = 1; target < sections_.size(); ++target) {
            std::vector<std::uint8_t> bytes;
            for (const ElfRelocation& relocation : relocations_) {
                if (relocation.section == target) {
                    append_value(bytes,
                                 Elf64_Rela{relocation.offset,
                                            ELF64_R_INFO(std::uint64_t{relocation.symbol}, relocation.type),
                                            relocation.addend});
                }
            }
            if (!bytes.empty()) {
                sections.push_back({.name = ".rela" + sections_[target].name,
                                    .type = SHT_RELA,
                                    .flags = SHF_INFO_LINK,
                                    .bytes = std::move(bytes),
                                    .info = static_cast<std::uint32_t>(target),
                                    .entry_size = sizeof(Elf64_Rela)});
            }
        }
        const auto symbol_table = static_cast<std::uint32_t>(sections.size());
        for (std::size_t i = sections_.size(); i < sections.size(); ++i) {
            sections[i].link = symbol_table;
        }
    }

    void append_symbol_table(std::vector<ElfSection>& sections) const {
        std::vector<std::uint8_t> entries;
        std::vector<std::uint8_t> names{0};
        for (const ElfSymbol& symbol : symbols_) {
            Elf64_Sym entry{};
            entry.st_name = add_name(names, symbol.name);
            entry.st_info = ELF64_ST_INFO(STB_LOCAL, symbol.type);
            entry.st_shndx = static_cast<std::uint16_t>(symbol.section);
            const bool relative = type_ == ET_REL || symbol.section >= sections_.size();
            entry.st_value = symbol.value + (relative ? 0 : sections_[symbol.section].address);
            entry.st_size = symbol.size;
            append_value(entries, entry);
        }
        const auto names_index = static_cast<std::uint32_t>(sections.size() + 1);
        sections.push_back({.name = ".symtab",
                            .type = SHT_SYMTAB,
                            .bytes = std::move(entries),
                            .link = names_index,
                            .info = static_cast<std::uint32_t>(symbols_.size()),
                            .entry_size = sizeof(Elf64_Sym)});
        sections.push_back({.name = ".strtab", .type = SHT_STRTAB, .bytes = std::move(names)});
        sections.push_back({.name = ".shstrtab", .type = SHT_STRTAB, .bytes = {}});
    }

    std::vector<Elf64_Shdr> append_contents(ElfFile& file, const std::vector<ElfSection>& sections) const {
        std::vector<std::uint8_t> names{0};
        std::vector<Elf64_Shdr> headers;
        for (const ElfSection& section : sections) {
            Elf64_Shdr header{};
            header.sh_name = add_name(names, section.name);
            header.sh_type = section.type;
            header.sh_flags = section.flags;
            header.sh_addr = type_ == ET_REL ? 0 : section.address;
            header.sh_offset = section.type == SHT_NULL ? 0 : file.bytes.size();
            header.sh_size = section.bytes.size();
            header.sh_link = section.link;
            header.sh_info = section.info;
            header.sh_addralign = section.type == SHT_NULL ? 0 : 1;
            header.sh_entsize = section.entry_size;
            file.names_.push_back(section.name);
            file.offsets_.push_back(file.bytes.size());
            if (&section == &sections.back()) {
                header.sh_size = names.size();
                file.bytes.insert(file.bytes.end(), names.begin(), names.end());
            } else if (section.type != SHT_NOBITS) {
                file.bytes.insert(file.bytes.end(), section.bytes.begin(), section.bytes.end());
            }
            file.bytes.resize((file.bytes.size() + 7) / 8 * 8);
            headers.push_back(header);
        }
        return headers;
    }

    [[nodiscard]] Elf64_Ehdr file_header(const ElfFile& file) const {
        Elf64_Ehdr header{};
        constexpr auto identity =
            std::to_array<unsigned char>({0x7f, 'E', 'L', 'F', ELFCLASS64, ELFDATA2LSB, EV_CURRENT});
        std::ranges::copy(identity, std::begin(header.e_ident));
        header.e_type = type_;
        header.e_machine = EM_X86_64;
        header.e_version = EV_CURRENT;
        header.e_shoff = file.section_table_;
        header.e_ehsize = sizeof(Elf64_Ehdr);
        header.e_shentsize = sizeof(Elf64_Shdr);
        header.e_shnum = static_cast<std::uint16_t>(file.names_.size());
        header.e_shstrndx = static_cast<std::uint16_t>(file.names_.size() - 1);
        return header;
    }

    static std::uint32_t add_name(std::vector<std::uint8_t>& names, const std::string& name) {
        if (name.empty()) {
            return 0;
        }
        const auto at = static_cast<std::uint32_t>(names.size());
        names.insert(names.end(), name.begin(), name.end());
        names.push_back(0);
        return at;
    }

    std::uint16_t type_;
    std::vector<ElfSection> sections_;
    std::vector<ElfSymbol> symbols_;
    std::vector<std::size_t> section_symbols_; // by section number
    std::vector<ElfRelocation> relocations_;
};

// A file with the sections .text, previrt_sites and .note.previrt, and a function "code" that is all of
// .text.
inline ElfBuilder make_elf_with_sites(std::uint16_t type, const std::vector<std::uint8_t>& text,
                                      std::span<const RecordedSite> sites) {
    ElfBuilder builder(type);
    const std::size_t section = builder.add_code(".text", ElfBuilder::text_address, text);
    builder.add(ElfSymbol{"code", section, 0, text.size(), STT_FUNC});
    builder.add_site_table(sites);
    builder.add_note();
    return builder;
}

} // namespace previrt
