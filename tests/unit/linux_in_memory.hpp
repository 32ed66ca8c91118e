// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "tests/unit/make_linux.hpp"
#include "toolchain/pack/load_segments.hpp"

namespace previrt {

// What stands in memory, by physical address, once a boot loader has loaded an ELF file.
inline std::vector<std::uint8_t> load_elf(const std::vector<std::uint8_t>& elf) {
    const std::vector<LoadSegment> segments = read_load_segments(elf);
    std::vector<std::uint8_t> memory(segments.back().end());
    for (const LoadSegment& segment : segments) {
        std::memcpy(memory.data() + segment.physical_address, elf.data() + segment.file_offset,
                    segment.file_size);
    }
    return memory;
}

// What arch/x86/boot/compressed/misc.c of Linux does there where the kernel's virtual addresses grow by
// `delta`.
inline void handle_relocations(std::vector<std::uint8_t>& memory, const std::vector<std::uint8_t>& table,
                               std::uint64_t delta) {
    std::size_t at = table.size();
    const auto next = [&] {
        std::int32_t word = 0;
        std::memcpy(&word, table.data() + (at -= sizeof word), sizeof word);
        return word;
    };
    const auto add = [&](std::int32_t word, auto value, std::uint64_t difference) {
        std::uint8_t* const field = memory.data() + physical(static_cast<std::uint64_t>(std::int64_t{word}));
        std::memcpy(&value, field, sizeof value);
        value += static_cast<decltype(value)>(difference);
        std::memcpy(field, &value, sizeof value);
    };
    while (const std::int32_t word = next()) {
        add(word, std::uint32_t{}, delta);
    }
    while (const std::int32_t word = next()) {
        add(word, std::uint32_t{}, -delta);
    }
    while (const std::int32_t word = next()) {
        add(word, std::uint64_t{}, delta);
    }
}

} // namespace previrt
