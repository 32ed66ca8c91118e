// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/pack/load_segments.hpp"

#include "host/input_error.hpp"
#include "toolchain/image/elf_headers.hpp"

#include <algorithm>
#include <limits>
#include <string>

namespace previrt {

namespace {

using Bytes = std::span<const std::uint8_t>;

bool lies_inside(std::uint64_t offset, std::uint64_t size, std::uint64_t room) {
    return offset <= room && size <= room - offset;
}

} // namespace

std::vector<LoadSegment> read_load_segments(Bytes elf) {
    std::vector<LoadSegment> segments;
    std::size_t index = 0;
    for (const Elf64_Phdr& header : read_program_headers(elf)) {
        const std::string name = "program header " + std::to_string(index++);
        if (header.p_type != PT_LOAD || header.p_memsz == 0) {
            continue;
        }
        if (!lies_inside(header.p_offset, header.p_filesz, elf.size())) {
            throw InputError(name + ": its contents lie outside the file");
        }
        if (header.p_filesz > header.p_memsz) {
            throw InputError(name + ": more bytes in the file than in memory");
        }
        if (header.p_memsz > std::numeric_limits<std::uint64_t>::max() - header.p_paddr) {
            throw InputError(name + ": its physical addresses wrap around");
        }
        segments.push_back({.physical_address = header.p_paddr,
                            .memory_size = header.p_memsz,
                            .file_offset = header.p_offset,
                            .file_size = header.p_filesz,
                            .virtual_address = header.p_vaddr,
                            .writable = (header.p_flags & PF_W) != 0});
    }
    std::ranges::sort(segments, {}, &LoadSegment::physical_address);
    return segments;
}

std::uint64_t elf_file_size(Bytes bytes) {
    const Elf64_Ehdr header = read_file_header(bytes);
    const std::vector<Elf64_Phdr> segments = read_program_headers(bytes);
    const std::vector<Elf64_Shdr> sections = read_section_headers(bytes);
    std::uint64_t end = sizeof header;
    const auto reach = [&](std::uint64_t offset, std::uint64_t size) {
        if (!lies_inside(offset, size, bytes.size())) {
            throw InputError("its segments and sections lie outside the file");
        }
        end = std::max(end, offset + size);
    };
    if (!segments.empty()) {
        reach(header.e_phoff, segments.size() * sizeof(Elf64_Phdr));
    }
    if (!sections.empty()) {
        reach(header.e_shoff, sections.size() * sizeof(Elf64_Shdr));
    }
    for (const Elf64_Phdr& segment : segments) {
        reach(segment.p_offset, segment.p_filesz);
    }
    for (const Elf64_Shdr& section : sections) {
        if (section.sh_type != SHT_NOBITS && section.sh_type != SHT_NULL) {
            reach(section.sh_offset, section.sh_size);
        }
    }
    return end;
}

} // namespace previrt
