// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/image/pvh_note.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <elf.h>
#include <string_view>

namespace previrt {

namespace {

constexpr std::string_view note_name("Xen\0", 4);
constexpr std::uint32_t phys32_entry = 18;

std::uint64_t rounded_up(std::uint32_t size) {
    return (std::uint64_t{size} + 3) & ~std::uint64_t{3};
}

bool has_note(std::span<const std::uint8_t> notes) {
    while (notes.size() >= sizeof(Elf64_Nhdr)) {
        Elf64_Nhdr header;
        std::memcpy(&header, notes.data(), sizeof header);
        const auto contents = notes.subspan(sizeof header);
        const std::uint64_t size = rounded_up(header.n_namesz) + rounded_up(header.n_descsz);
        if (size > contents.size()) {
            return false;
        }
        if (header.n_type == phys32_entry && header.n_namesz == note_name.size() &&
            std::memcmp(contents.data(), note_name.data(), note_name.size()) == 0) {
            return true;
        }
        notes = contents.subspan(size);
    }
    return false;
}

} // namespace

bool has_pvh_note(const ElfImage& image) {
    return std::ranges::any_of(image.sections(), [](const Section& section) {
        return section.name.starts_with(".note") && has_note(section.bytes);
    });
}

} // namespace previrt
