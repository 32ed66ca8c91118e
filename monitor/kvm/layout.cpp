// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/kvm/layout.hpp"

#include "backends/common/contract/packet_ring.hpp"
#include "backends/common/contract/table_pool.hpp"
#include "backends/kvm/deprivileged/contract/layout.hpp"
#include "backends/kvm/privileged/contract/layout.hpp"
#include "devices/platform/pc.hpp"
#include "host/input_error.hpp"
#include "monitor/disk/guest_disks.hpp"
#include "monitor/folder/guest_folders.hpp"

#include <algorithm>
#include <array>
#include <cstring>
#include <utility>

namespace previrt {

namespace {

using namespace kvm;

constexpr std::uint64_t large_page = page_size * table_entries;
constexpr std::uint64_t table_reach = large_page * table_entries; // of a level-2 table
constexpr std::uint64_t map_reach = table_reach * table_entries;  // of the level-3 table
constexpr std::uint64_t privileged_map_reach = table_reach * kvm_privileged::map_most_tables;
constexpr std::uint64_t mib = std::uint64_t{1} << 20U;

constexpr std::uint64_t entry_table = 0x63; // present, writable, accessed, dirty
constexpr std::uint64_t entry_user = 0x4;
constexpr std::uint64_t entry_writable = 0x2;
constexpr std::uint64_t entry_uncached = 0x10;
constexpr std::uint64_t entry_large = 0x80;
constexpr std::uint64_t entry_no_execute = std::uint64_t{1} << 63U;

constexpr unsigned last_entry = table_entries - 1;

constexpr std::uint64_t round_up(std::uint64_t bytes, std::uint64_t unit) {
    return (bytes + unit - 1) / unit * unit;
}

void set_entry(std::span<std::uint8_t> memory, std::uint64_t table, std::uint64_t index,
               std::uint64_t entry) {
    std::memcpy(memory.subspan(table + (index * sizeof entry)).data(), &entry, sizeof entry);
}

void place_image(std::span<std::uint8_t> memory, const VmmSegments& image) {
    for (const LoadSegment& segment : image.segments) {
        const auto contents = std::span(image.file).subspan(segment.file_offset, segment.file_size);
        std::ranges::copy(contents, memory.subspan(VmmSegments::offset_of(segment)).begin());
    }
}

std::uint64_t table_flags(const KvmLayout& layout) {
    return entry_table | (layout.vmm_is_at_level_3 ? entry_user : 0);
}

struct LastTables {
    std::uint64_t root;
    std::uint64_t level3;
    std::uint64_t level2;
    std::uint64_t level1;
};

void set_last_tables(std::span<std::uint8_t> memory, const KvmLayout& layout,
                     const std::array<std::uint64_t, table_entries>& entries, const LastTables& tables) {
    const std::uint64_t flags = table_flags(layout);
    for (std::size_t index = 0; index < entries.size(); ++index) {
        set_entry(memory, tables.level1, index, entries[index]);
    }
    set_entry(memory, tables.level2, last_entry, layout.physical(tables.level1) | flags);
    set_entry(memory, tables.level3, last_entry, layout.physical(tables.level2) | flags);
    set_entry(memory, tables.root, last_entry, layout.physical(tables.level3) | flags);
}

void map_image(std::span<std::uint8_t> memory, const KvmLayout& layout, const VmmSegments& image) {
    const std::uint64_t flags = table_flags(layout);
    std::array<std::uint64_t, table_entries> entries{};
    for (const LoadSegment& segment : image.segments) {
        const std::uint64_t first = VmmSegments::offset_of(segment) / page_size;
        const std::uint64_t end = VmmSegments::offset_of(segment) + segment.memory_size;
        for (std::uint64_t index = first; index * page_size < end; ++index) {
            // A page of two segments gets the rights of both.
            const std::uint64_t writable =
                segment.writable ? entry_writable : entries[index] & entry_writable;
            entries[index] = layout.physical(index * page_size) | (flags & ~entry_writable) | writable;
        }
    }
    for (const FixedPage& page : layout.fixed_pages) {
        entries[page.index] = page.physical | flags | (page.cached ? 0 : entry_uncached);
    }
    set_last_tables(memory, layout, entries,
                    {.root = layout.root,
                     .level3 = layout.vmm_level3,
                     .level2 = layout.vmm_level2,
                     .level1 = layout.vmm_level1});
    for (unsigned processor = 1; processor < layout.processors.processors; ++processor) {
        const std::uint64_t own = layout.memory_of(processor);
        const ProcessorMemory& parts = layout.processors.memory;
        for (std::uint64_t offset = 0; offset < parts.own_bytes; offset += page_size) {
            entries[layout.processors.first + (offset / page_size)] = layout.physical(own + offset) | flags;
        }
        set_last_tables(memory, layout, entries,
                        {.root = own + parts.root(),
                         .level3 = own + parts.level3(),
                         .level2 = own + parts.level2(),
                         .level1 = own + parts.level1()});
    }
}

void map_memory(std::span<std::uint8_t> memory, const KvmLayout& layout) {
    const std::uint64_t flags = table_flags(layout);
    const std::uint64_t mapped = layout.vmm_base + layout.vmm_bytes - layout.ram_base;
    for (std::uint64_t index = 0; index < layout.map_tables(); ++index) {
        set_entry(memory, layout.map_level3, index,
                  layout.physical(layout.map_level2 + (index * page_size)) | flags);
    }
    for (std::uint64_t offset = 0; offset < mapped; offset += large_page) {
        set_entry(memory, layout.map_level2, offset / large_page,
                  (layout.ram_base + offset) | flags | entry_large | entry_no_execute);
    }
    const std::uint64_t root_index = (layout.map_address / map_reach) % table_entries;
    set_entry(memory, layout.root, root_index, layout.physical(layout.map_level3) | flags);
    for (unsigned processor = 1; processor < layout.processors.processors; ++processor) {
        set_entry(memory, layout.memory_of(processor) + layout.processors.memory.root(), root_index,
                  layout.physical(layout.map_level3) | flags);
    }
}

// Allocates the VMM's memory from its start on.
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

unsigned KvmLayout::map_tables() const {
    return static_cast<unsigned>((vmm_base + vmm_bytes - ram_base + table_reach - 1) / table_reach);
}

std::uint64_t KvmLayout::physical(std::uint64_t offset) const {
    return vmm_base + offset;
}

std::uint64_t KvmLayout::memory_of(unsigned processor) const {
    return other_processors.offset + ((processor - 1) * processors.memory.bytes());
}

std::uint64_t KvmLayout::first_root_of(unsigned processor) const {
    return physical(processor == 0 ? root : memory_of(processor) + processors.memory.root());
}

namespace {

void check_size(const KvmLayout& layout, std::uint64_t bytes) {
    const std::uint64_t most = layout.vmm_is_at_level_3 ? map_reach : privileged_map_reach;
    if (bytes > most) {
        throw InputError("--memory: a guest under KVM and its VMM have " +
                         std::to_string(most / (mib << 10U)) + " GiB at most");
    }
}

// The parts of both modes.
void place_parts(KvmLayout& layout, Places& places, std::uint64_t image_bytes, std::uint64_t package_bytes) {
    places.take(image_bytes); // at the start
    layout.root = places.take(page_size);
    layout.vmm_level3 = places.take(page_size);
    layout.vmm_level2 = places.take(page_size);
    layout.vmm_level1 = places.take(page_size);
    layout.handover = places.take(page_size);
    layout.output = places.take_part(sizeof(ConsoleRing));
    layout.input = places.take_part(sizeof(ConsoleRing));
    layout.package = places.take_part(package_bytes);
}

void place_rest(KvmLayout& layout, Places& places, std::uint64_t room) {
    const std::uint64_t before_vmm = layout.vmm_base - layout.ram_base;
    // One table more than the rest needs, for the memory of the tables themselves.
    const std::uint64_t tables = ((before_vmm + places.end() + room) / table_reach) + 2;
    layout.map_level2 = places.take(tables * page_size);
    layout.free.offset = places.take(room);
    layout.vmm_bytes = round_up(places.end(), large_page);
    layout.free.bytes = layout.vmm_bytes - layout.free.offset;
    check_size(layout, before_vmm + layout.vmm_bytes);
}

} // namespace

KvmLayout lay_out(std::uint64_t image_bytes, std::uint64_t guest_memory, std::uint64_t package_bytes,
                  const ProcessorPages& processors) {
    KvmLayout layout{};
    layout.vmm_is_at_level_3 = true;
    // Checked first, so that no sum wraps.
    check_size(layout, guest_memory);
    check_size(layout, package_bytes);
    layout.guest_memory = guest_memory;
    layout.ram_bytes = round_up(guest_memory, large_page);
    layout.ram_base = ram_base;
    layout.vmm_base = ram_base + layout.ram_bytes;
    layout.map_address = map_address;
    Places places;
    place_parts(layout, places, image_bytes, package_bytes);
    layout.map_level3 = places.take(page_size);
    layout.processors = processors;
    layout.other_processors = places.take_part((processors.processors - 1) * processors.memory.bytes());
    layout.copied_tables =
        places.take_part(processors.processors == 1 ? 0 : table_pool::table_count(guest_memory / page_size));
    layout.stolen_times = places.take_part(processors.processors * stolen_time_bytes);
    layout.sent = places.take_part(sizeof(monitored::PacketRing));
    layout.received = places.take_part(sizeof(monitored::PacketRing));
    take_disk_rings(layout.disks, [&](std::uint64_t bytes) { return places.take_part(bytes); });
    layout.vsock.sent = places.take_part(sizeof(monitored::PacketRing));
    layout.vsock.received = places.take_part(sizeof(monitored::PacketRing));
    layout.console_ports.sent = places.take_part(sizeof(monitored::PacketRing));
    layout.console_ports.received = places.take_part(sizeof(monitored::PacketRing));
    take_folder_links(layout.folders, [&](std::uint64_t bytes) { return places.take_part(bytes); });
    place_rest(layout, places, round_up(table_pool::arena_bytes(guest_memory / page_size), page_size));
    layout.fixed_pages = {
        {.index = handover_index, .physical = layout.physical(layout.handover)},
        {.index = doorbell_index, .physical = doorbells},
        {.index = local_apic_index, .physical = local_apic, .cached = false},
    };
    return layout;
}

KvmLayout lay_out_privileged(std::uint64_t image_bytes, std::uint64_t guest_memory,
                             std::uint64_t package_bytes) {
    if (guest_memory > kvm_privileged::most_ram) {
        throw InputError("--memory: on a KVM that runs level 0 on the processor a guest has 3 GiB at most");
    }
    KvmLayout layout{};
    check_size(layout, package_bytes);
    layout.guest_memory = guest_memory;
    layout.ram_bytes = round_up(guest_memory, large_page);
    layout.ram_base = 0;
    layout.vmm_base = kvm_privileged::vmm_memory;
    layout.map_address = kvm_privileged::map_address;
    Places places;
    place_parts(layout, places, image_bytes, package_bytes);
    layout.map_level3 = layout.vmm_level3;
    layout.mailbox = places.take(page_size);
    layout.devices = places.take(sizeof(Pc));
    layout.sent = places.take_part(sizeof(monitored::PacketRing));
    layout.received = places.take_part(sizeof(monitored::PacketRing));
    take_disk_rings(layout.disks, [&](std::uint64_t bytes) { return places.take_part(bytes); });
    place_rest(layout, places, 0);
    const auto add_page = [&](unsigned index, std::uint64_t offset) {
        layout.fixed_pages.push_back({.index = index, .physical = layout.physical(offset)});
    };
    add_page(handover_index, layout.handover);
    add_page(kvm_privileged::mailbox_index, layout.mailbox);
    for (const auto& [index, ring] : {std::pair(kvm_privileged::output_index, layout.output),
                                      std::pair(kvm_privileged::input_index, layout.input)}) {
        add_page(index, ring.offset);
        add_page(index + 1, ring.offset + page_size);
    }
    return layout;
}

void fill_vmm_memory(std::span<std::uint8_t> memory, const KvmLayout& layout, const VmmSegments& image,
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
    handover.network.sent = layout.sent;
    handover.network.received = layout.received;
    handover.disks = layout.disks;
    handover.vsock = layout.vsock;
    handover.console_ports = layout.console_ports;
    handover.folders = layout.folders;
    handover.root = layout.physical(layout.root);
    handover.map_level3 = layout.physical(layout.map_level3);
    handover.vmm_level3 = layout.physical(layout.vmm_level3);
    handover.vmm_level2 = layout.physical(layout.vmm_level2);
    handover.vmm_level1 = layout.physical(layout.vmm_level1);
    handover.processors = layout.processors.processors;
    handover.other_processors = layout.other_processors;
    handover.copied_tables = layout.copied_tables;
    return handover;
}

} // namespace previrt
