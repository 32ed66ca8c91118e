// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/image/elf_image.hpp"

#include "host/input_error.hpp"

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <gelf.h>
#include <libelf.h>
#include <limits>
#include <memory>
#include <tuple>
#include <utility>

namespace previrt {

namespace {

constexpr std::size_t most_sections = 1U
                                      << 20U; // a module has thousands with -ffunction-sections, not millions
constexpr unsigned section_address_shift = 40; // of a relocatable file: index + 1 above these bits

struct EndElf {
    void operator()(Elf* elf) const { elf_end(elf); }
};

// Names appear in messages and on terminals.
std::string printable(std::string name) {
    std::ranges::replace_if(
        name, [](char c) { return static_cast<unsigned char>(c) < ' ' || c == '\x7f'; }, '?');
    return name;
}

std::string section_words(std::size_t index) {
    return "section " + std::to_string(index);
}

SymbolType type_of(unsigned char info) {
    switch (GELF_ST_TYPE(info)) {
    case STT_FUNC:
    case STT_GNU_IFUNC:
        return SymbolType::function;
    case STT_OBJECT:
    case STT_TLS:
    case STT_COMMON:
        return SymbolType::object;
    default:
        return SymbolType::none;
    }
}

} // namespace

class ElfReader {
public:
    explicit ElfReader(ElfImage& image) : image_(image) {}

    void read() {
        read_header();
        read_section_headers();
        for (std::size_t index = 1; index < headers_.size(); ++index) {
            add_section(index);
        }
        for (std::size_t index = 1; index < headers_.size(); ++index) {
            if (headers_[index].sh_type == SHT_SYMTAB) {
                read_symbols(index);
            }
        }
        for (std::size_t index = 1; index < headers_.size(); ++index) {
            if (headers_[index].sh_type == SHT_RELA && image_.relocatable_) {
                read_relocations(index);
            }
        }
        std::ranges::sort(image_.sections_, {}, &Section::address);
        std::ranges::sort(image_.symbols_, [](const Symbol& left, const Symbol& right) {
            return std::tie(left.address, left.name) < std::tie(right.address, right.name);
        });
        std::ranges::sort(image_.relocations_, {}, &Relocation::place);
        check_sections_are_disjoint();
    }

private:
    void read_header() {
        elf_version(EV_CURRENT);
        std::vector<std::uint8_t>& file = image_.file_;
        if (file.size() < EI_NIDENT || std::memcmp(file.data(), ELFMAG, SELFMAG) != 0) {
            throw InputError("not an ELF file");
        }
        if (file[EI_CLASS] != ELFCLASS64 || file[EI_DATA] != ELFDATA2LSB) {
            throw InputError("not a 64-bit little-endian ELF file");
        }
        if (file.size() < sizeof(Elf64_Ehdr)) {
            throw InputError("the file ends inside the ELF header");
        }
        check_section_table();
        // libelf takes char*, but does not write to it.
        elf_.reset(
            elf_memory(reinterpret_cast<char*>(file.data()), file.size())); // NOLINT(*-reinterpret-cast)
        GElf_Ehdr header;
        if (!elf_ || gelf_getehdr(elf_.get(), &header) == nullptr) {
            throw InputError(std::string("not a readable ELF file: ") + elf_errmsg(-1));
        }
        if (header.e_machine != EM_X86_64) {
            throw InputError("made for another machine than x86-64 (e_machine " +
                             std::to_string(header.e_machine) + ")");
        }
        if (header.e_type != ET_REL && header.e_type != ET_EXEC && header.e_type != ET_DYN) {
            throw InputError("neither an object file nor a linked program (e_type " +
                             std::to_string(header.e_type) + ")");
        }
        image_.relocatable_ = header.e_type == ET_REL;
        image_.entry_ = header.e_entry;
    }

    // libelf treats a table outside the file as absent.
    void check_section_table() const {
        const std::vector<std::uint8_t>& file = image_.file_;
        Elf64_Ehdr header;
        std::memcpy(&header, file.data(), sizeof header);
        if (header.e_shoff == 0) {
            return;
        }
        const std::uint64_t room =
            header.e_shoff < file.size() ? (file.size() - header.e_shoff) / sizeof(Elf64_Shdr) : 0;
        std::uint64_t count = header.e_shnum;
        if (count == 0 && room != 0) {
            Elf64_Shdr first; // has the number that e_shnum cannot hold
            std::memcpy(&first, file.data() + header.e_shoff, sizeof first);
            count = first.sh_size;
        }
        if (room == 0 || count > room) {
            throw InputError(
                "the section headers lie outside the file: its end is missing, or it is damaged");
        }
    }

    void read_section_headers() {
        std::size_t count = 0;
        if (elf_getshdrnum(elf_.get(), &count) != 0 || elf_getshdrstrndx(elf_.get(), &names_) != 0) {
            throw InputError(std::string("the section table is damaged: ") + elf_errmsg(-1));
        }
        if (count == 0) {
            throw InputError("the file has no section headers: they are needed to find its code");
        }
        if (count > most_sections) {
            throw InputError("the file claims " + std::to_string(count) + " sections");
        }
        headers_.resize(count);
        for (std::size_t index = 0; index < count; ++index) {
            if (gelf_getshdr(elf_getscn(elf_.get(), index), &headers_[index]) == nullptr) {
                throw InputError(section_words(index) + ": the header lies outside the file");
            }
        }
    }

    [[nodiscard]] std::span<const std::uint8_t> contents(std::size_t index) const {
        const GElf_Shdr& header = headers_[index];
        if (header.sh_type == SHT_NOBITS) {
            return {};
        }
        const std::uint64_t size = image_.file_.size();
        if (header.sh_offset > size || header.sh_size > size - header.sh_offset) {
            throw InputError(section_words(index) + ": its contents lie outside the file (offset " +
                             std::to_string(header.sh_offset) + ", size " + std::to_string(header.sh_size) +
                             ", file " + std::to_string(size) + ")");
        }
        return std::span(image_.file_).subspan(header.sh_offset, header.sh_size);
    }

    // A string of a string table; nothing if the section is no string table.
    [[nodiscard]] std::optional<std::string> string(std::size_t table, std::size_t offset) const {
        if (table >= headers_.size() || headers_[table].sh_type != SHT_STRTAB) {
            return std::nullopt;
        }
        const auto bytes = contents(table);
        if (offset >= bytes.size()) {
            return std::nullopt;
        }
        const auto tail = bytes.subspan(offset);
        const auto end = std::ranges::find(tail, std::uint8_t{0});
        if (end == tail.end()) {
            return std::nullopt;
        }
        return printable(std::string(tail.begin(), end));
    }

    [[nodiscard]] std::uint64_t address_of(std::size_t index) const {
        return image_.relocatable_ ? (std::uint64_t{index} + 1) << section_address_shift
                                   : headers_[index].sh_addr;
    }

    void add_section(std::size_t index) {
        const GElf_Shdr& header = headers_[index];
        const auto bytes = contents(index);
        if ((header.sh_flags & SHF_ALLOC) == 0) {
            return;
        }
        const std::optional<std::string> name = string(names_, header.sh_name);
        if (!name) {
            throw InputError(section_words(index) + ": its name lies outside the string table");
        }
        const std::uint64_t address = address_of(index);
        if (header.sh_size > std::numeric_limits<std::uint64_t>::max() - address) {
            throw InputError(*name + ": its addresses wrap around");
        }
        image_.sections_.push_back(
            {*name, address, header.sh_offset, bytes, (header.sh_flags & SHF_EXECINSTR) != 0});
    }

    // The address of a symbol of section `index`; nothing if the file does not define it in a section.
    [[nodiscard]] std::optional<std::uint64_t> symbol_address(const Elf64_Sym& symbol,
                                                              std::size_t index) const {
        if (index == SHN_UNDEF || index >= headers_.size()) {
            return std::nullopt;
        }
        return image_.relocatable_ ? address_of(index) + symbol.st_value : symbol.st_value;
    }

    [[nodiscard]] std::vector<Elf64_Sym> symbol_entries(std::size_t table) const {
        const auto bytes = contents(table);
        if (bytes.size() % sizeof(Elf64_Sym) != 0) {
            throw InputError(section_words(table) + ": the symbol table has no whole number of entries");
        }
        std::vector<Elf64_Sym> entries(bytes.size() / sizeof(Elf64_Sym));
        if (!entries.empty()) {
            std::memcpy(entries.data(), bytes.data(), bytes.size());
        }
        return entries;
    }

    // Section indices above 0xff00 are in a table of their own.
    [[nodiscard]] std::size_t section_of(const Elf64_Sym& symbol, std::size_t entry,
                                         std::size_t table) const {
        if (symbol.st_shndx != SHN_XINDEX) {
            return symbol.st_shndx >= SHN_LORESERVE ? std::size_t{SHN_UNDEF} : symbol.st_shndx;
        }
        for (std::size_t index = 1; index < headers_.size(); ++index) {
            if (headers_[index].sh_type == SHT_SYMTAB_SHNDX && headers_[index].sh_link == table) {
                const auto bytes = contents(index);
                std::uint32_t section = SHN_UNDEF;
                if (entry < bytes.size() / sizeof section) {
                    std::memcpy(&section, bytes.data() + (entry * sizeof section), sizeof section);
                }
                return section;
            }
        }
        return SHN_UNDEF;
    }

    void read_symbols(std::size_t table) {
        const std::vector<Elf64_Sym> entries = symbol_entries(table);
        for (std::size_t i = 1; i < entries.size(); ++i) {
            const Elf64_Sym& symbol = entries[i];
            const unsigned type = GELF_ST_TYPE(symbol.st_info);
            const auto address = symbol_address(symbol, section_of(symbol, i, table));
            if (!address || type == STT_SECTION || type == STT_FILE || symbol.st_name == 0) {
                continue;
            }
            const std::optional<std::string> name = string(headers_[table].sh_link, symbol.st_name);
            if (!name) {
                throw InputError("symbol " + std::to_string(i) + ": its name lies outside the string table");
            }
            image_.symbols_.push_back({*name, *address, symbol.st_size, type_of(symbol.st_info)});
        }
    }

    void read_relocations(std::size_t index) {
        const GElf_Shdr& header = headers_[index];
        if (header.sh_info >= headers_.size() || header.sh_link >= headers_.size() ||
            headers_[header.sh_link].sh_type != SHT_SYMTAB) {
            throw InputError(section_words(index) + ": relocations of no section or without a symbol table");
        }
        const GElf_Shdr& target = headers_[header.sh_info];
        if ((target.sh_flags & SHF_ALLOC) == 0) {
            return;
        }
        const auto bytes = contents(index);
        if (bytes.size() % sizeof(Elf64_Rela) != 0) {
            throw InputError(section_words(index) + ": no whole number of relocations");
        }
        const std::vector<Elf64_Sym> symbols = symbol_entries(header.sh_link);
        for (std::size_t at = 0; at < bytes.size(); at += sizeof(Elf64_Rela)) {
            Elf64_Rela entry;
            std::memcpy(&entry, bytes.data() + at, sizeof entry);
            const std::size_t symbol = ELF64_R_SYM(entry.r_info);
            if (entry.r_offset >= target.sh_size || symbol >= symbols.size()) {
                throw InputError(section_words(index) + ": relocation " + std::to_string(at / sizeof entry) +
                                 " lies outside its section or names no symbol");
            }
            image_.relocations_.push_back(
                {address_of(header.sh_info) + entry.r_offset,
                 symbol_address(symbols[symbol], section_of(symbols[symbol], symbol, header.sh_link)),
                 entry.r_addend, static_cast<std::uint32_t>(ELF64_R_TYPE(entry.r_info))});
        }
    }

    // For sections with bytes, so that an address is that of one byte only.
    void check_sections_are_disjoint() const {
        const Section* previous = nullptr;
        for (const Section& section : image_.sections_) {
            if (section.bytes.empty()) {
                continue;
            }
            if (previous != nullptr && section.address - previous->address < previous->bytes.size()) {
                throw InputError(previous->name + " and " + section.name + " overlap");
            }
            previous = &section;
        }
    }

    ElfImage& image_;
    std::unique_ptr<Elf, EndElf> elf_;
    std::vector<GElf_Shdr> headers_;
    std::size_t names_ = 0;
};

ElfImage ElfImage::parse(std::vector<std::uint8_t> file) {
    ElfImage image;
    image.file_ = std::move(file);
    ElfReader(image).read();
    return image;
}

const Section* ElfImage::section_at(std::uint64_t address) const {
    // Sections without bytes share addresses with others: look back past them.
    auto after = std::ranges::upper_bound(sections_, address, {}, &Section::address);
    while (after != sections_.begin()) {
        --after;
        if (address - after->address < after->bytes.size()) {
            return &*after;
        }
        if (!after->bytes.empty()) {
            return nullptr;
        }
    }
    return nullptr;
}

const Relocation* ElfImage::relocation_at(std::uint64_t place) const {
    const auto found = std::ranges::lower_bound(relocations_, place, {}, &Relocation::place);
    return found != relocations_.end() && found->place == place ? &*found : nullptr;
}

} // namespace previrt
