// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/run/kvm_layout.hpp"

#include "backends/kvm/layout.hpp"
#include "toolchain/image/input_error.hpp"

#include <algorithm>
#include <array>
#include <cstring>

namespace previrt {

namespace {

using namespace kvm;

constexpr std::uint64_t large_page = page_size * table_entries;
constexpr std::uint64_t table_reach = large_page * table_entries; // of a level-2 table
constexpr std::uint64_t map_reach = table_reach * table_entries;  // of the level-3 table
constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

constexpr std::uint64_t entry_table = 0x67; // present, writable, user, accessed, dirty
constexpr std::uint64_t entry_writable = 0x2;
constexpr std::uint64_t entry_uncached = 0x10;
constexpr std::uint64_t entry_large = 0x80;
constexpr std::uint64_t entry_no_execute = std::uint64_t{1} << 63U;

constexpr unsigned last_entry = table_entries - 1;

constexpr std::uint64_t round_up(std::uint64_t bytes, std::uint64_t unit) {
    return (bytes + unit - 1) / unit * unit;
}

// What the VMM needs beside its package: shadow tables and their descriptions, and a record for each frame.
std::uint64_t free_bytes(std::uint64_t guest_memory) {
    constexpr std::uint64_t table_description = 256;
    constexpr std::uint64_t frame_description = 64;
    const std::uint64_t frames = guest_memory / page_size;
    return round_up(((frames / 32 + 512) * (page_size + table_description)) + (frames * frame_description) +
                        (4 * mib),
                    page_size);
}

void set_entry(std::span<std::uint8_t> memory, std::uint64_t table, std::uint64_t index,
               std::uint64_t entry) {
    std::memcpy(memory.subspan(table + (index * sizeof entry)).data(), &entry, sizeof entry);
}

void place_image(std::span<std::uint8_t> memory, const KvmImage& image) {
    for (const LoadSegment& segment : image.segments) {
        const auto contents = std::span(image.file).subspan(segment.file_offset, segment.file_size);
        std::ranges::copy(contents, memory.subspan(KvmImage::offset_of(segment)).begin());
    }
}

void map_image(std::span<std::uint8_t> memory, const KvmLayout& layout, const KvmImage& image) {
    std::array<std::uint64_t, table_entries> entries{};
    for (const LoadSegment& segment : image.segments) {
        const std::uint64_t first = KvmImage::offset_of(segment) / page_size;
        const std::uint64_t end = KvmImage::offset_of(segment) + segment.memory_size;
        for (std::uint64_t index = first; index * page_size < end; ++index) {
            // A page of two segments is what either of them needs.
            const std::uint64_t writable =
                segment.writable ? entry_writable : entries[index] & entry_writable;
            entries[index] = layout.physical(index * page_size) | (entry_table & ~entry_writable) | writable;
        }
    }
    entries[handover_index] = layout.physical(layout.handover) | entry_table;
    entries[doorbell_index] = doorbells | entry_table;
    entries[local_apic_index] = local_apic | entry_table | entry_uncached;
    for (std::size_t index = 0; index < entries.size(); ++index) {
        set_entry(memory, layout.vmm_level1, index, entries[index]);
    }
    set_entry(memory, layout.vmm_level2, last_entry, layout.physical(layout.vmm_level1) | entry_table);
    set_entry(memory, layout.vmm_level3, last_entry, layout.physical(layout.vmm_level2) | entry_table);
    set_entry(memory, layout.root, last_entry, layout.physical(layout.vmm_level3) | entry_table);
}

void map_memory(std::span<std::uint8_t> memory, const KvmLayout& layout) {
    for (std::uint64_t offset = 0; offset < layout.bytes(); offset += table_reach) {
        const std::uint64_t index = offset / table_reach;
        set_entry(memory, layout.map_level3, index,
                  layout.physical(layout.map_level2 + (index * page_size)) | entry_table);
    }
    for (std::uint64_t offset = 0; offset < layout.bytes(); offset += large_page) {
        set_entry(memory, layout.map_level2, offset / large_page,
                  (ram_base + offset) | entry_table | entry_large | entry_no_execute);
    }
    set_entry(memory, layout.root, map_root_index, layout.physical(layout.map_level3) | entry_table);
}

// Hands out the VMM's memory from its start on.
class Places {
public:
    std::uint64_t take(std::uint64_t bytes) {
        const std::uint64_t place = end_;
        end_ += round_up(bytes, page_size);
        return place;
    }
    Part take_part(std::uint64_t bytes) { return {.offset = take(bytes), .bytes = bytes}; }
    [[nodiscard]] std::uint64_t end() const { return end_; }

private:
    std::uint64_t end_ = 0;
};

} // namespace

std::uint64_t KvmLayout::physical(std::uint64_t offset) const {
    return ram_base + ram_bytes + offset;
}

KvmLayout lay_out(std::uint64_t image_bytes, std::uint64_t guest_memory, std::uint64_t package_bytes) {
    // So that no sum wraps.
    const auto too_large = [](std::uint64_t bytes) { return bytes > map_reach; };
    if (too_large(guest_memory) || too_large(package_bytes)) {
        throw InputError("--memory: a guest under KVM and its VMM have 512 GiB at most");
    }
    KvmLayout layout{};
    layout.guest_memory = guest_memory;
    layout.ram_bytes = round_up(guest_memory, large_page);
    Places places;
    places.take(image_bytes); // at the start
    layout.root = places.take(page_size);
    layout.map_level3 = places.take(page_size);
    layout.vmm_level3 = places.take(page_size);
    layout.vmm_level2 = places.take(page_size);
    layout.vmm_level1 = places.take(page_size);
    layout.handover = places.take(page_size);
    layout.output = places.take_part(sizeof(Ring));
    layout.input = places.take_part(sizeof(Ring));
    layout.package = places.take_part(package_bytes);
    const std::uint64_t room = free_bytes(guest_memory);
    // With one table more than the rest needs: for what the tables add.
    const std::uint64_t tables = ((layout.ram_bytes + places.end() + room) / table_reach) + 2;
    layout.map_level2 = places.take(tables * page_size);
    layout.free.offset = places.take(room);
    layout.vmm_bytes = round_up(places.end(), large_page);
    layout.free.bytes = layout.vmm_bytes - layout.free.offset;
    if (too_large(layout.bytes())) {
        throw InputError("--memory: a guest under KVM and its VMM have 512 GiB at most");
    }
    return layout;
}

void fill_vmm_memory(std::span<std::uint8_t> memory, const KvmLayout& layout, const KvmImage& image,
                     std::span<const std::uint8_t> package) {
    place_image(memory, image);
    map_image(memory, layout, image);
    map_memory(memory, layout);
    std::ranges::copy(package, memory.subspan(layout.package.offset).begin());
}

Handover make_handover(const KvmLayout& layout) {
    Handover handover{};
    handover.guest_memory = layout.guest_memory;
    handover.vmm_memory = layout.physical(0);
    handover.package = layout.package;
    handover.free = layout.free;
    handover.output = layout.output;
    handover.input = layout.input;
    handover.root = layout.physical(layout.root);
    handover.map_level3 = layout.physical(layout.map_level3);
    handover.vmm_level3 = layout.physical(layout.vmm_level3);
    handover.vmm_level2 = layout.physical(layout.vmm_level2);
    handover.vmm_level1 = layout.physical(layout.vmm_level1);
    return handover;
}

} // namespace previrt
