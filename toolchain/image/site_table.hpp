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

// The checked records of a file (inplace-vmm/record_check.hpp), by address. Empty if the file has none.
// Throws InputError for a table that a loader would refuse.
std::vector<Site> read_site_table(const KernelFile& file, const Places& places);

// The code that may have sites, by address: the executable sections, and .rodata, for templates that a guest
// copies (Linux's kprobes).
std::vector<Text> code_and_templates(const ElfImage& image);

// A linked file with its table sorted by address, as a loader needs it. Throws InputError.
std::vector<std::uint8_t> sort_site_table(const KernelFile& file);

} // namespace previrt
