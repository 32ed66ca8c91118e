// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "inplace-vmm/record_check.hpp"
#include "toolchain/image/elf_image.hpp"
#include "toolchain/image/kernel_file.hpp"
#include "toolchain/image/places.hpp"

#include <string>
#include <vector>

namespace previrt {

inline constexpr const char* site_section = "previrt_sites";
inline constexpr const char* note_section = ".note.previrt";

// The records of a file, checked (inplace-vmm/record_check.hpp), by address. Empty where the file has none.
// Throws InputError on a table that a loader would refuse.
std::vector<Site> read_site_table(const KernelFile& file, const Places& places);

// Where sites may be, by address: the executable sections, and .rodata, for code that a guest keeps there as
// a template and copies (Linux's kprobes).
std::vector<Text> code_and_templates(const ElfImage& image);

// A linked file with its table put in order of address, as a loader wants it. Throws InputError.
std::vector<std::uint8_t> sort_site_table(const KernelFile& file);

} // namespace previrt
