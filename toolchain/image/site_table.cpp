// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/image/site_table.hpp"

#include "host/input_error.hpp"

#include <algorithm>
#include <cstring>
#include <elf.h>
#include <map>
#include <numeric>
#include <string_view>
#include <utility>

namespace previrt {

namespace {

constexpr std::string_view note_name("previrt\0", 8);

struct Note {
    std::uint32_t name_size;
    std::uint32_t description_size;
    std::uint32_t type;
    char name[8];
    std::uint32_t abi_version;
    std::uint32_t record_size;
};
static_assert(sizeof(Note) == 28);

template <typename T>
T read_at(std::span<const std::uint8_t> bytes, std::size_t offset) {
    T value;
    std::memcpy(&value, bytes.data() + offset, sizeof value);
    return value;
}

std::size_t rounded_up(std::size_t size) {
    return (size + 3) & ~std::size_t{3};
}

// Linkers merge notes: previrt's may be among others in a section of another name.
bool has_note(const Section& section) {
    bool found = false;
    std::size_t at = 0;
    while (section.bytes.size() - at >= 12) {
        const auto name_size = read_at<std::uint32_t>(section.bytes, at);
        const auto description_size = read_at<std::uint32_t>(section.bytes, at + 4);
        const std::size_t left = section.bytes.size() - at - 12;
        if (rounded_up(name_size) > left || rounded_up(description_size) > left - rounded_up(name_size)) {
            break;
        }
        const bool ours =
            name_size == note_name.size() &&
            std::memcmp(section.bytes.data() + at + 12, note_name.data(), note_name.size()) == 0;
        if (ours) {
            if (description_size != 8) {
                throw InputError(section.name + ": the previrt note has a wrong size");
            }
            const auto note = read_at<Note>(section.bytes, at);
            if (note.abi_version != abi_version || note.record_size != sizeof(SiteRecord)) {
                throw InputError("its records are of ABI version " + std::to_string(note.abi_version) +
                                 " and " + std::to_string(note.record_size) +
                                 " bytes, this previrt knows version " + std::to_string(abi_version) +
                                 " and " + std::to_string(sizeof(SiteRecord)) +
                                 " bytes: rebuild the kernel with the macros of this version");
            }
            found = true;
        }
        at += 12 + rounded_up(name_size) + rounded_up(description_size);
    }
    return found;
}

void check_note(const ElfImage& image) {
    bool found = false;
    for (const Section& section : image.sections()) {
        if (section.name.starts_with(".note")) {
            found = has_note(section) || found;
        }
    }
    if (!found) {
        throw InputError("it has records but no previrt note (" + std::string(note_section) +
                         ") to say their version: keep the note section when linking");
    }
}

std::uint64_t resolve(const ElfImage& image, std::uint64_t place, const SiteRecord& record,
                      std::size_t index) {
    if (!image.relocatable()) {
        return place + static_cast<std::uint64_t>(std::int64_t{record.site});
    }
    const Relocation* const relocation = image.relocation_at(place);
    if (relocation == nullptr || relocation->type != R_X86_64_PC32 || !relocation->symbol) {
        throw InputError("record " + std::to_string(index) + ": no relocation says where its site is");
    }
    return *relocation->symbol + static_cast<std::uint64_t>(relocation->addend);
}

void append_records(const ElfImage& image, const Section& section, std::vector<Site>& sites) {
    if (section.bytes.size() % sizeof(SiteRecord) != 0) {
        throw InputError(section.name + ": its size " + std::to_string(section.bytes.size()) +
                         " is no whole number of records");
    }
    for (std::size_t at = 0; at < section.bytes.size(); at += sizeof(SiteRecord)) {
        const auto record = read_at<SiteRecord>(section.bytes, at);
        sites.push_back({resolve(image, section.address + at, record, sites.size()), record});
    }
}

std::vector<Site> read_records(const ElfImage& image) {
    std::vector<Site> sites;
    for (const Section& section : image.sections()) {
        if (section.name == site_section) {
            append_records(image, section, sites);
        }
    }
    if (!sites.empty()) {
        check_note(image);
    }
    return sites;
}

[[noreturn]] void refuse(const RecordCheck& check, const Site& site, const KernelFile& file,
                         const Places& places) {
    std::string remedy;
    if (check.fault == RecordFault::unsorted && !file.elf.relocatable()) {
        remedy = "; sort a linked table with: previrt sort-sites " + file.path;
    }
    throw InputError("record " + std::to_string(check.index) + " for " + places.at(site.address).text() +
                     ": " + describe(check.fault) + remedy);
}

// An assembler emits the records of one section in order, but alternates between sections.
std::size_t first_unsorted_within_its_section(const ElfImage& image, const std::vector<Site>& sites) {
    std::map<const Section*, std::uint64_t> last;
    for (std::size_t i = 0; i < sites.size(); ++i) {
        const Section* const section = image.section_at(sites[i].address);
        const auto [entry, inserted] = last.try_emplace(section, sites[i].address);
        if (!inserted && sites[i].address < entry->second) {
            return i;
        }
        entry->second = sites[i].address;
    }
    return sites.size();
}

} // namespace

std::vector<Text> code_and_templates(const ElfImage& image) {
    std::vector<Text> text;
    for (const Section& section : image.sections()) {
        if ((section.executable || section.name == ".rodata") && !section.bytes.empty()) {
            text.push_back({section.address, section.bytes});
        }
    }
    return text;
}

std::vector<Site> read_site_table(const KernelFile& file, const Places& places) {
    try {
        std::vector<Site> sites = read_records(file.elf);
        std::vector<std::size_t> numbers(sites.size()); // in the table
        std::iota(numbers.begin(), numbers.end(), std::size_t{0});
        if (file.elf.relocatable()) {
            const std::size_t unsorted = first_unsorted_within_its_section(file.elf, sites);
            if (unsorted != sites.size()) {
                refuse({RecordFault::unsorted, unsorted}, sites[unsorted], file, places);
            }
            const std::vector<Site> unordered = sites;
            std::ranges::sort(numbers, {}, [&](std::size_t number) {
                return std::pair(unordered[number].address, number);
            });
            std::ranges::transform(numbers, sites.begin(),
                                   [&](std::size_t number) { return unordered[number]; });
        }
        const RecordCheck check = check_records(sites, code_and_templates(file.elf));
        if (check.fault != RecordFault::none) {
            refuse({check.fault, numbers[check.index]}, sites[check.index], file, places);
        }
        return sites;
    } catch (const InputError& error) {
        throw InputError(file.path + ": " + error.what());
    }
}

std::vector<std::uint8_t> sort_site_table(const KernelFile& file) {
    if (file.packed || file.elf.relocatable()) {
        throw InputError(file.path + ": only the table of a linked ELF file can be sorted");
    }
    std::vector<std::uint8_t> bytes = file.elf.file();
    for (const Section& section : file.elf.sections()) {
        if (section.name != site_section) {
            continue;
        }
        std::vector<Site> sites;
        try {
            append_records(file.elf, section, sites);
        } catch (const InputError& error) {
            throw InputError(file.path + ": " + error.what());
        }
        std::ranges::sort(sites, {}, &Site::address);
        for (std::size_t i = 0; i < sites.size(); ++i) {
            const std::uint64_t place = section.address + (i * sizeof(SiteRecord));
            sites[i].record.site = static_cast<std::int32_t>(sites[i].address - place);
            if (place + static_cast<std::uint64_t>(std::int64_t{sites[i].record.site}) != sites[i].address) {
                throw InputError(file.path + ": a site lies more than 2 GiB from its record");
            }
            std::memcpy(bytes.data() + section.file_offset + (i * sizeof(SiteRecord)), &sites[i].record,
                        sizeof(SiteRecord));
        }
    }
    return bytes;
}

} // namespace previrt
