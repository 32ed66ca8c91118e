// SPDX-License-Identifier: BSD-2-Clause
#include "frontends/x86/linux_boot/kernel_elf.hpp"

#include "inplace-vmm/stop.hpp"

#include <algorithm>
#include <cstring>

namespace previrt {

namespace {

// The part of <elf.h> that is used here.
struct FileHeader {
    std::uint8_t identification[16];
    std::uint16_t type;
    std::uint16_t machine;
    std::uint32_t version;
    std::uint64_t entry;
    std::uint64_t segments_at;
    std::uint64_t sections_at;
    std::uint32_t flags;
    std::uint16_t header_bytes;
    std::uint16_t segment_header_bytes;
    std::uint16_t segment_count;
    std::uint16_t section_header_bytes;
    std::uint16_t section_count;
    std::uint16_t section_names;
};
static_assert(sizeof(FileHeader) == 64);

struct SegmentHeader {
    std::uint32_t type;
    std::uint32_t flags;
    std::uint64_t offset;
    std::uint64_t address;
    std::uint64_t physical;
    std::uint64_t file_bytes;
    std::uint64_t memory_bytes;
    std::uint64_t alignment;
};
static_assert(sizeof(SegmentHeader) == 56);

constexpr std::uint32_t segment_load = 1;
constexpr std::uint32_t section_without_bytes = 8;
constexpr std::uint64_t section_allocated = 2;
constexpr std::uint64_t section_executable = 4;

template <typename Value>
Value read_at(std::span<const std::uint8_t> file, std::uint64_t offset) {
    if (offset > file.size() || sizeof(Value) > file.size() - offset) {
        stop_guest("the kernel's ELF file ends too early, at", offset);
    }
    Value value{};
    std::memcpy(&value, file.data() + offset, sizeof(value));
    return value;
}

} // namespace

struct KernelElf::SectionHeader {
    std::uint32_t name;
    std::uint32_t type;
    std::uint64_t flags;
    std::uint64_t address;
    std::uint64_t offset;
    std::uint64_t bytes;
    std::uint32_t link;
    std::uint32_t info;
    std::uint64_t alignment;
    std::uint64_t entry_bytes;
};

KernelElf::KernelElf(std::span<const std::uint8_t> file) : file_(file) {
    static_assert(sizeof(SectionHeader) == 64);
    constexpr std::uint8_t elf64_little_endian[] = {0x7f, 'E', 'L', 'F', 2, 1};
    constexpr std::uint16_t x86_64 = 62;
    const auto header = read_at<FileHeader>(file, 0);
    if (std::memcmp(header.identification, elf64_little_endian, sizeof(elf64_little_endian)) != 0 ||
        header.machine != x86_64 || header.segment_header_bytes != sizeof(SegmentHeader) ||
        header.section_header_bytes != sizeof(SectionHeader)) {
        stop_guest("the kernel is not an ELF file for x86-64");
    }
    entry_ = header.entry;
    segments_at_ = header.segments_at;
    sections_at_ = header.sections_at;
    segment_count_ = header.segment_count;
    section_count_ = header.section_count;
    names_ = header.section_names;
}

LoadSegment KernelElf::segment(unsigned number) const {
    const auto header =
        read_at<SegmentHeader>(file_, segments_at_ + (std::uint64_t{number} * sizeof(SegmentHeader)));
    if (header.type != segment_load) {
        return {};
    }
    if (header.offset > file_.size() || header.file_bytes > file_.size() - header.offset ||
        header.file_bytes > header.memory_bytes) {
        stop_guest("a segment lies outside the kernel's file, at", header.offset);
    }
    return {.address = header.address,
            .physical = header.physical,
            .memory_bytes = header.memory_bytes,
            .bytes = file_.subspan(header.offset, header.file_bytes)};
}

std::uint64_t KernelElf::physical_entry() const {
    const std::uint64_t physical = physical_of(entry_);
    return physical != ~std::uint64_t{0} ? physical : entry_; // Linux gives it as a physical address
}

std::uint64_t KernelElf::physical_of(std::uint64_t address) const {
    for (unsigned i = 0; i < segment_count_; ++i) {
        const LoadSegment candidate = segment(i);
        if (address >= candidate.address && address - candidate.address < candidate.memory_bytes) {
            return candidate.physical + (address - candidate.address);
        }
    }
    return ~std::uint64_t{0};
}

KernelElf::SectionHeader KernelElf::header(unsigned number) const {
    return read_at<SectionHeader>(file_, sections_at_ + (std::uint64_t{number} * sizeof(SectionHeader)));
}

std::span<const std::uint8_t> KernelElf::contents(const SectionHeader& header) const {
    if (header.type == section_without_bytes) {
        return {};
    }
    if (header.offset > file_.size() || header.bytes > file_.size() - header.offset) {
        stop_guest("a section lies outside the kernel's file, at", header.offset);
    }
    return file_.subspan(header.offset, header.bytes);
}

std::string_view KernelElf::name(const SectionHeader& section) const {
    const std::span<const std::uint8_t> names = contents(header(names_));
    if (section.name >= names.size()) {
        return {};
    }
    const auto rest = names.subspan(section.name);
    const auto* const end = std::find(rest.data(), rest.data() + rest.size(), std::uint8_t{0});
    return {reinterpret_cast<const char*>(rest.data()), static_cast<std::size_t>(end - rest.data())};
}

KernelSection KernelElf::section(std::string_view wanted) const {
    for (unsigned i = 0; i < section_count_; ++i) {
        const SectionHeader candidate = header(i);
        if (name(candidate) == wanted) {
            return {.address = candidate.address, .bytes = contents(candidate)};
        }
    }
    stop_guest("the kernel was not pre-virtualized: it has no section previrt_sites");
}

std::size_t KernelElf::code_sections(std::span<Text> text) const {
    std::size_t count = 0;
    for (unsigned i = 0; i < section_count_; ++i) {
        const SectionHeader candidate = header(i);
        const bool is_code = (candidate.flags & section_executable) != 0 || name(candidate) == ".rodata";
        if ((candidate.flags & section_allocated) == 0 || !is_code ||
            candidate.type == section_without_bytes) {
            continue;
        }
        if (count == text.size()) {
            stop_guest("the kernel has too many sections");
        }
        text[count++] = {.address = candidate.address, .bytes = contents(candidate)};
    }
    std::sort(text.data(), text.data() + count,
              [](const Text& left, const Text& right) { return left.address < right.address; });
    return count;
}

bool KernelElf::is_copied(std::uint64_t address) const {
    for (unsigned i = 0; i < section_count_; ++i) {
        const SectionHeader candidate = header(i);
        if (address - candidate.address < candidate.bytes && (candidate.flags & section_allocated) != 0) {
            return name(candidate) == ".altinstr_replacement" || (candidate.flags & section_executable) == 0;
        }
    }
    return false;
}

} // namespace previrt
