// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/process/image.hpp"

#include "backends/process/contract/layout.hpp"
#include "host/input_error.hpp"
#include "inplace-vmm/instruction_counts.hpp"
#include "toolchain/image/elf_image.hpp"

#include <algorithm>
#include <cstring>

namespace previrt {

namespace {

using namespace process;

constexpr std::uint64_t most_bytes = handover_address - image_address;

void check_segment(const LoadSegment& segment) {
    const std::uint64_t offset = segment.virtual_address - image_address;
    if (segment.virtual_address < image_address || offset >= most_bytes ||
        segment.memory_size > most_bytes - offset) {
        throw InputError("a segment lies outside the VMM's 2 MiB");
    }
}

ImageHeader read_header(const ProcessImage& image) {
    ImageHeader header{};
    const auto first = std::ranges::find(image.segments, image_address, &LoadSegment::virtual_address);
    if (first == image.segments.end() || first->file_size < sizeof header) {
        throw InputError("it does not begin with the header of a VMM for a process");
    }
    std::memcpy(&header, image.file.data() + first->file_offset, sizeof header);
    if (!std::ranges::equal(header.magic, image_magic)) {
        throw InputError("it is no VMM for a process (magic)");
    }
    constexpr std::uint64_t word = 4;
    const std::uint64_t offset = header.event_word - image_address;
    if (header.event_word < image_address || offset > most_bytes - word || offset % word != 0) {
        throw InputError("its event word lies outside the VMM's 2 MiB, or crosswise");
    }
    const std::uint64_t counts = header.instruction_counts;
    if (counts != 0 &&
        (counts < image_address || counts - image_address > most_bytes - sizeof(InstructionCounts) ||
         counts % alignof(InstructionCounts) != 0)) {
        throw InputError("its counts of instructions lie outside the VMM's 2 MiB, or crosswise");
    }
    return header;
}

} // namespace

void ProcessImage::copy_to(std::span<std::uint8_t> memory) const {
    for (const LoadSegment& segment : segments) {
        std::ranges::copy(std::span(file).subspan(segment.file_offset, segment.file_size),
                          memory.subspan(segment.virtual_address - image_address).begin());
    }
}

std::uint64_t ProcessImage::event_word_offset() const {
    return header.event_word - image_address;
}

std::optional<std::uint64_t> ProcessImage::instruction_counts_offset() const {
    return header.instruction_counts != 0 ? std::optional(header.instruction_counts - image_address)
                                          : std::nullopt;
}

ProcessImage read_process_image(const std::string& path, std::vector<std::uint8_t> file) {
    try {
        const ElfImage elf = ElfImage::parse(std::move(file));
        ProcessImage image{.file = elf.file(), .segments = read_load_segments(elf.file()), .header = {}};
        std::ranges::for_each(image.segments, check_segment);
        image.header = read_header(image);
        return image;
    } catch (const InputError& error) {
        throw InputError(path + ": " + error.what());
    }
}

} // namespace previrt
