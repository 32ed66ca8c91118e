// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <elf.h>
#include <span>
#include <vector>

namespace previrt {

// The headers of a 64-bit ELF file, unconverted; the tables lie inside the file. Throw InputError.
Elf64_Ehdr read_file_header(std::span<const std::uint8_t> elf);
std::vector<Elf64_Phdr> read_program_headers(std::span<const std::uint8_t> elf);
std::vector<Elf64_Shdr> read_section_headers(std::span<const std::uint8_t> elf);

} // namespace previrt
