// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/image/elf_headers.hpp"

#include "host/input_error.hpp"

#include <cstring>
#include <string>

namespace previrt {

namespace {

using Bytes = std::span<const std::uint8_t>;

template <typename Structure>
Structure read_at(Bytes bytes, std::uint64_t offset) {
    Structure structure;
    if (offset > bytes.size() || sizeof structure > bytes.size() - offset) {
        throw InputError("the ELF file ends inside its headers");
    }
    std::memcpy(&structure, bytes.data() + offset, sizeof structure);
    return structure;
}

template <typename Entry>
std::vector<Entry> read_table(Bytes bytes, std::uint64_t offset, std::uint64_t count, const char* name) {
    if (offset > bytes.size() || count > (bytes.size() - offset) / sizeof(Entry)) {
        throw InputError(std::string("the ") + name + " headers lie outside the file");
    }
    std::vector<Entry> entries(count);
    if (count != 0) {
        std::memcpy(entries.data(), bytes.data() + offset, count * sizeof(Entry));
    }
    return entries;
}

} // namespace

Elf64_Ehdr read_file_header(Bytes elf) {
    return read_at<Elf64_Ehdr>(elf, 0);
}

std::vector<Elf64_Phdr> read_program_headers(Bytes elf) {
    const Elf64_Ehdr header = read_file_header(elf);
    if (header.e_phnum == PN_XNUM || (header.e_phnum != 0 && header.e_phentsize != sizeof(Elf64_Phdr))) {
        throw InputError("its program headers have a size or number that no kernel has");
    }
    return read_table<Elf64_Phdr>(elf, header.e_phoff, header.e_phnum, "program");
}

std::vector<Elf64_Shdr> read_section_headers(Bytes elf) {
    const Elf64_Ehdr header = read_file_header(elf);
    if (header.e_shoff == 0) {
        return {};
    }
    // The first section header has the number if e_shnum cannot hold it.
    const std::uint64_t count =
        header.e_shnum != 0 ? header.e_shnum : read_at<Elf64_Shdr>(elf, header.e_shoff).sh_size;
    return read_table<Elf64_Shdr>(elf, header.e_shoff, count, "section");
}

} // namespace previrt
