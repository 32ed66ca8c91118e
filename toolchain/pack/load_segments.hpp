// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <span>
#include <vector>

namespace previrt {

// A segment that a loader of an ELF executable places in physical memory.
struct LoadSegment {
    std::uint64_t physical_address;
    std::uint64_t memory_size;
    std::uint64_t file_offset;
    std::uint64_t file_size;
    std::uint64_t virtual_address;
    bool writable;

    [[nodiscard]] std::uint64_t end() const { return physical_address + memory_size; }
};

// By physical address, without empty segments. Each lies inside the file, and its physical addresses do not
// wrap. Throws InputError.
std::vector<LoadSegment> read_load_segments(std::span<const std::uint8_t> elf);

// The size of the ELF file at the start of these bytes: a bzImage's is followed by a relocation table. Throws
// InputError.
std::uint64_t elf_file_size(std::span<const std::uint8_t> bytes);

} // namespace previrt
