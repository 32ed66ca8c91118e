// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/image/relocations.hpp"

#include "host/input_error.hpp"
#include "toolchain/image/elf_headers.hpp"
#include "toolchain/image/places.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <string>

namespace previrt {

namespace {

using Bytes = std::span<const std::uint8_t>;
using Word = std::int32_t; // the lower half of an address in the last 2 GiB, or 0 in front of a list

struct List {
    RelocatedField field;
    const char* name;
};
constexpr std::array<List, 3> lists_from_the_end{{{RelocatedField::signed_32, "32-bit"},
                                                  {RelocatedField::inverse_32, "inverse 32-bit"},
                                                  {RelocatedField::full_64, "64-bit"}}};

Word word_at(Bytes table, std::size_t index) {
    Word word = 0;
    std::memcpy(&word, table.data() + (index * sizeof word), sizeof word);
    return word;
}

std::vector<KernelRelocation> read_lists(Bytes table) {
    std::vector<KernelRelocation> relocations;
    std::size_t left = table.size() / sizeof(Word);
    for (const List& list : lists_from_the_end) {
        Word word = 0;
        do {
            if (left == 0) {
                throw InputError(std::string("the zero in front of its list of ") + list.name +
                                 " fields is missing");
            }
            word = word_at(table, --left);
            if (word != 0) {
                relocations.push_back({.address = static_cast<std::uint64_t>(std::int64_t{word}),
                                       .field = list.field,
                                       .section = nullptr,
                                       .in_section = 0});
            }
        } while (word != 0);
    }
    if (left != 0) {
        throw InputError("its lists end " + std::to_string(left * sizeof(Word)) +
                         " bytes behind the end of the ELF file");
    }
    return relocations;
}

void place_fields(const ElfImage& image, std::vector<KernelRelocation>& relocations) {
    const ProcessorData data = find_processor_data(image);
    const KernelRelocation* previous = nullptr;
    for (KernelRelocation& relocation : relocations) {
        relocation.section = image.section_at(relocation.address);
        relocation.in_section = relocation.address;
        if (data.section != nullptr && relocation.address - data.loaded_at < data.section->bytes.size()) {
            relocation.section = data.section;
            relocation.in_section -= data.loaded_at;
        } else if (relocation.section == nullptr || relocation.section == data.section) {
            relocation.section = nullptr; // the field is not loaded
        } else {
            relocation.in_section -= relocation.section->address;
        }
        if (relocation.section == nullptr ||
            relocation.size() > relocation.section->bytes.size() - relocation.in_section) {
            throw InputError("the field at " + hex(relocation.address) +
                             " lies outside the contents of the kernel's sections");
        }
        if (previous != nullptr && relocation.address - previous->address < previous->size()) {
            throw InputError("the fields at " + hex(previous->address) + " and " + hex(relocation.address) +
                             " overlap");
        }
        previous = &relocation;
    }
}

} // namespace

ProcessorData find_processor_data(const ElfImage& kernel) {
    constexpr std::uint64_t kernel_map = 0xffff'ffff'8000'0000;
    const Section* const section = kernel.section_at(0);
    if (section == nullptr) {
        return {};
    }
    for (const Elf64_Phdr& segment : read_program_headers(kernel.file())) {
        const std::uint64_t inside = section->file_offset - segment.p_offset;
        if (segment.p_type == PT_LOAD && segment.p_vaddr == 0 && inside < segment.p_filesz &&
            segment.p_paddr < -kernel_map - inside) {
            return {.section = section, .loaded_at = kernel_map + segment.p_paddr + inside};
        }
    }
    return {};
}

std::vector<KernelRelocation> read_kernel_relocations(const ElfImage& kernel, Bytes table) {
    try {
        if (table.size() % sizeof(Word) != 0) {
            throw InputError("its size of " + std::to_string(table.size()) +
                             " bytes is no whole number of 32-bit addresses");
        }
        if (table.size() > kernel.file().size()) { // the fields that it names do not overlap
            throw InputError("it is larger than the kernel: " + std::to_string(table.size()) + " bytes");
        }
        std::vector<KernelRelocation> relocations = read_lists(table);
        std::ranges::sort(relocations, {}, &KernelRelocation::address);
        place_fields(kernel, relocations);
        return relocations;
    } catch (const InputError& error) {
        throw InputError(
            std::string("the relocation table behind its ELF file is damaged, build the kernel again: ") +
            error.what());
    }
}

} // namespace previrt
