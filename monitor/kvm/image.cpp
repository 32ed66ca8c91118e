// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/kvm/image.hpp"

#include "backends/kvm/deprivileged/contract/layout.hpp"
#include "backends/kvm/privileged/contract/layout.hpp"
#include "devices/platform/pc.hpp"
#include "host/input_error.hpp"
#include "inplace-vmm/instruction_counts.hpp"
#include "toolchain/image/elf_image.hpp"

#include <algorithm>
#include <cstring>

namespace previrt {

namespace {

using namespace kvm;

// The monitor's pages of the last 2 MiB follow it.
constexpr std::uint64_t most_bytes = handover_address - image_address;
constexpr std::uint64_t most_privileged_bytes = kvm_privileged::output_address - image_address;
constexpr std::uint64_t largest_table = 65536; // that a descriptor-table limit can describe
constexpr std::uint64_t least_task = 104;
constexpr std::uint64_t least_table = 8;

std::uint64_t end_of(const LoadSegment& segment) {
    return VmmSegments::offset_of(segment) + segment.memory_size;
}

// In order: each inside the bound, and behind the one before.
void check_segments(const std::vector<LoadSegment>& segments, std::uint64_t most) {
    std::uint64_t end = 0;
    for (const LoadSegment& segment : segments) {
        const std::uint64_t offset = VmmSegments::offset_of(segment);
        if (segment.virtual_address < image_address || offset >= most ||
            segment.memory_size > most - offset) {
            throw InputError("a segment lies outside the VMM's part of the last 2 MiB");
        }
        if (offset < end) {
            throw InputError("its segments overlap");
        }
        end = end_of(segment);
    }
}

template <typename Header>
Header read_header(const VmmSegments& image, const char (&magic)[8]) {
    Header header;
    const std::vector<LoadSegment>& segments = image.segments;
    if (segments.empty() || segments.front().virtual_address != image_address ||
        segments.front().file_size < sizeof header) {
        throw InputError("it does not begin with the header of a VMM for KVM");
    }
    std::memcpy(&header, image.file.data() + segments.front().file_offset, sizeof header);
    if (!std::ranges::equal(header.magic, magic)) {
        throw InputError("it is no VMM for KVM (magic)");
    }
    return header;
}

void check_inside(const VmmSegments& image, const char* name, std::uint64_t address, std::uint64_t bytes,
                  bool writable = false) {
    const bool inside = std::ranges::any_of(image.segments, [&](const LoadSegment& segment) {
        return (segment.writable || !writable) && address >= segment.virtual_address &&
               bytes <= segment.memory_size &&
               address - segment.virtual_address <= segment.memory_size - bytes;
    });
    if (!inside) {
        throw InputError(std::string("its ") + name + " lies outside its " + (writable ? "writable " : "") +
                         "segments");
    }
}

void check_header(const ImageHeader& header, const VmmSegments& image) {
    const auto check = [&](const char* name, std::uint64_t address, std::uint64_t bytes) {
        check_inside(image, name, address, bytes);
    };
    const auto check_table = [&](const char* name, std::uint64_t address, std::uint64_t bytes,
                                 std::uint64_t least) {
        if (bytes < least || bytes > largest_table) {
            throw InputError(std::string("its ") + name + " has " + std::to_string(bytes) + " bytes");
        }
        check(name, address, bytes);
    };
    check("entry", header.entry, 1);
    check("system call's entry", header.system_call, 1);
    check("isolated system call's entry", header.isolated_system_call, 1);
    check_table("global descriptor table", header.global_table, header.global_table_bytes, least_table);
    check_table("local descriptor table", header.local_table, header.local_table_bytes, least_table);
    check_table("interrupt descriptor table", header.interrupt_table, header.interrupt_table_bytes,
                least_table);
    check_table("task state", header.task, header.task_bytes, least_task);
    check("other processors' entry", header.processor_entry, 1);
    if (header.processor_start % page_size != 0 || header.processor_end % page_size != 0 ||
        header.processor_end < header.processor_start) {
        throw InputError("its processors' own memory is not in whole pages");
    }
    check_inside(image, "processors' own memory", header.processor_start,
                 header.processor_end - header.processor_start, true);
    if (header.event_word % sizeof(std::uint32_t) != 0) {
        throw InputError("its event word is not aligned");
    }
    check_inside(image, "event word", header.event_word, sizeof(std::uint32_t), true);
    if (header.instruction_counts % alignof(InstructionCounts) != 0) {
        throw InputError("its counts of instructions are not aligned");
    }
    if (header.instruction_counts != 0) {
        check_inside(image, "counts of instructions", header.instruction_counts, sizeof(InstructionCounts),
                     true);
    }
}

void check_header(const kvm_privileged::ImageHeader& header, const VmmSegments& image) {
    check_inside(image, "entry", header.entry, 1);
    constexpr std::uint64_t least_stack = 4096;
    check_inside(image, "stack", header.stack_top - least_stack, least_stack, true);
    if (header.device_bytes != sizeof(Pc)) {
        throw InputError("its devices are of another previrt");
    }
}

VmmSegments check(std::vector<std::uint8_t> file, std::uint64_t most) {
    const ElfImage elf = ElfImage::parse(std::move(file));
    VmmSegments image{.file = elf.file(), .segments = read_load_segments(elf.file()), .bytes = 0};
    std::ranges::sort(image.segments, {}, &LoadSegment::virtual_address);
    check_segments(image.segments, most);
    if (!image.segments.empty()) {
        image.bytes = (end_of(image.segments.back()) + page_size - 1) / page_size * page_size;
    }
    return image;
}

template <typename Image, typename Header>
Image read(const std::string& path, std::vector<std::uint8_t> file, std::uint64_t most,
           const char (&magic)[8]) {
    try {
        VmmSegments segments = check(std::move(file), most);
        const auto header = read_header<Header>(segments, magic);
        check_header(header, segments);
        return {{std::move(segments)}, header};
    } catch (const InputError& error) {
        throw InputError(path + ": " + error.what());
    }
}

} // namespace

std::uint64_t VmmSegments::offset_of(const LoadSegment& segment) {
    return segment.virtual_address - image_address;
}

std::optional<std::uint64_t> KvmImage::instruction_counts_offset() const {
    return header.instruction_counts != 0 ? std::optional(header.instruction_counts - image_address)
                                          : std::nullopt;
}

KvmImage read_kvm_image(const std::string& path, std::vector<std::uint8_t> file) {
    return read<KvmImage, ImageHeader>(path, std::move(file), most_bytes, image_magic);
}

PrivilegedImage read_privileged_image(const std::string& path, std::vector<std::uint8_t> file) {
    return read<PrivilegedImage, kvm_privileged::ImageHeader>(path, std::move(file), most_privileged_bytes,
                                                              kvm_privileged::image_magic);
}

} // namespace previrt
