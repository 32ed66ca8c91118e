// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace previrt {

struct Section {
    std::string name;
    std::uint64_t address; // see ElfImage::relocatable
    std::uint64_t file_offset;
    std::span<const std::uint8_t> bytes; // empty for .bss and its like
    bool executable;
};

enum class SymbolType : std::uint8_t { none, object, function };

struct Symbol {
    std::string name;
    std::uint64_t address;
    std::uint64_t size;
    SymbolType type;
};

struct Relocation {
    std::uint64_t place;
    std::optional<std::uint64_t> symbol; // its address, if the file defines it
    std::int64_t addend;
    std::uint32_t type; // R_X86_64_*
};

// An x86-64 ELF file, checked: every section, symbol and relocation lies inside the file and its sections.
class ElfImage {
public:
    ElfImage(ElfImage&&) = default;
    ElfImage& operator=(ElfImage&&) = default;
    ElfImage(const ElfImage&) = delete; // the sections point into the file
    ElfImage& operator=(const ElfImage&) = delete;
    ~ElfImage() = default;

    // Throws InputError. The image keeps the bytes.
    static ElfImage parse(std::vector<std::uint8_t> file);

    // An object file or kernel module. Its sections have no addresses yet: each gets one, far from the
    // others.
    [[nodiscard]] bool relocatable() const { return relocatable_; }
    [[nodiscard]] std::uint64_t entry() const { return entry_; }
    [[nodiscard]] const std::vector<Section>& sections() const { return sections_; }          // by address
    [[nodiscard]] const std::vector<Symbol>& symbols() const { return symbols_; }             // by address
    [[nodiscard]] const std::vector<Relocation>& relocations() const { return relocations_; } // by place
    [[nodiscard]] const std::vector<std::uint8_t>& file() const { return file_; }

    [[nodiscard]] const Section* section_at(std::uint64_t address) const;
    [[nodiscard]] const Relocation* relocation_at(std::uint64_t place) const;

private:
    friend class ElfReader;
    ElfImage() = default;

    std::vector<std::uint8_t> file_;
    std::vector<Section> sections_;
    std::vector<Symbol> symbols_;
    std::vector<Relocation> relocations_;
    std::uint64_t entry_ = 0;
    bool relocatable_ = false;
};

} // namespace previrt
