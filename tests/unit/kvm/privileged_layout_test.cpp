// SPDX-License-Identifier: BSD-2-Clause
// The memory that a VMM in privileged mode begins with.
#include "backends/common/contract/packet_ring.hpp"
#include "backends/kvm/privileged/contract/layout.hpp"
#include "host/input_error.hpp"
#include "tests/unit/kvm/vmm_memory.hpp"

#include <gtest/gtest.h>
#include <map>

namespace previrt {

namespace {

using namespace kvm_privileged;

constexpr std::uint64_t image_pages = (kvm_text_bytes + kvm_data_bytes) / page_size;

VmmMemory memory_of(std::uint64_t guest_memory) {
    const PrivilegedImage image = read_privileged_image("vmm", make_privileged_image());
    return {image, lay_out_privileged(image.bytes, guest_memory, VmmMemory::package_bytes)};
}

TEST(PrivilegedLayout, PartsLieBehindEachOther) {
    for (const std::uint64_t guest_memory : {32 * mib, 33 * mib, 256 * mib, gib + 1, 3 * gib}) {
        for (const std::uint64_t package : {std::uint64_t{1}, (5 * mib) + 1, 3 * gib}) {
            const KvmLayout layout = lay_out_privileged(3 * page_size, guest_memory, package);
            EXPECT_EQ(layout.guest_memory, guest_memory);
            EXPECT_EQ(layout.ram_base, 0U);
            EXPECT_GE(layout.ram_bytes, guest_memory);
            EXPECT_LT(layout.ram_bytes, guest_memory + large_page);
            EXPECT_EQ(layout.ram_bytes % large_page, 0U);
            EXPECT_EQ(layout.physical(0), vmm_memory);
            EXPECT_EQ(layout.vmm_bytes % large_page, 0U);
            const std::uint64_t tables = ((vmm_memory + layout.vmm_bytes - 1) / gib) + 1;
            std::vector<kvm::Part> parts = {
                {0, 3 * page_size}, layout.output,   layout.input,
                layout.package,     layout.free,     {layout.devices, sizeof(Pc)},
                layout.sent,        layout.received, {layout.map_level2, tables * page_size}};
            for (const std::uint64_t page : {layout.root, layout.vmm_level3, layout.vmm_level2,
                                             layout.vmm_level1, layout.handover, layout.mailbox}) {
                parts.push_back({page, page_size});
            }
            std::ranges::sort(parts, {}, &kvm::Part::offset);
            std::uint64_t end = 0;
            for (const kvm::Part& part : parts) {
                EXPECT_EQ(part.offset % page_size, 0U);
                EXPECT_GE(part.offset, end);
                end = part.offset + part.bytes;
            }
            EXPECT_LE(end, layout.vmm_bytes);
            EXPECT_EQ(layout.map_tables(), tables);
            EXPECT_EQ(layout.map_level3, layout.vmm_level3);
            for (const kvm::Part& ring : {layout.sent, layout.received}) {
                EXPECT_EQ(ring.bytes, sizeof(monitored::PacketRing));
            }
            EXPECT_EQ(layout.package.bytes, package);
        }
    }
}

TEST(PrivilegedLayout, MoreThan3GiBAreRefused) {
    EXPECT_NO_THROW(lay_out_privileged(page_size, 3 * gib, 1));
    for (const std::uint64_t guest_memory : {(3 * gib) + 1, 4 * gib, 512 * gib, ~std::uint64_t{0}}) {
        EXPECT_THROW(lay_out_privileged(page_size, guest_memory, 1), InputError);
    }
    for (const std::uint64_t package : {440 * gib, 512 * gib, ~std::uint64_t{0}}) {
        EXPECT_THROW(lay_out_privileged(page_size, 32 * mib, package), InputError);
    }
}

TEST(PrivilegedLayout, ShowsTheLast2MiBToLevel0Alone) {
    const VmmMemory memory = memory_of(64 * mib);
    const KvmLayout& layout = memory.layout();
    const std::map<std::uint64_t, std::uint64_t> fixed = {
        {kvm::handover_address, layout.handover},
        {mailbox_address, layout.mailbox},
        {output_address, layout.output.offset},
        {output_address + page_size, layout.output.offset + page_size},
        {input_address, layout.input.offset},
        {input_address + page_size, layout.input.offset + page_size}};
    for (unsigned index = 0; index < table_entries; ++index) {
        const std::uint64_t address = image_address + (std::uint64_t{index} << page_shift);
        const std::optional<Translation> page = memory.translate(address);
        const auto place = fixed.find(address);
        if (index < image_pages) {
            ASSERT_TRUE(page);
            EXPECT_EQ(page->physical, layout.physical(index * page_size));
            EXPECT_EQ(page->flags, index < kvm_text_bytes / page_size ? 0x61U : 0x63U);
        } else if (place != fixed.end()) {
            ASSERT_TRUE(page);
            EXPECT_EQ(page->physical, layout.physical(place->second));
            EXPECT_EQ(page->flags, 0x63U);
        } else {
            EXPECT_FALSE(page) << index;
            continue;
        }
        EXPECT_FALSE(page->user) << index;
    }
    EXPECT_GE(2 * page_size, sizeof(monitored::ConsoleRing));
}

TEST(PrivilegedLayout, MapBeginsWithTheGuestsMemory) {
    for (const std::uint64_t guest_memory : {33 * mib, gib, 3 * gib}) {
        const VmmMemory memory = memory_of(guest_memory);
        const std::uint64_t end = vmm_memory + memory.layout().vmm_bytes;
        for (std::uint64_t offset = 0; offset < end; offset += large_page) {
            const std::optional<Translation> page = memory.translate(map_address + offset + 4711);
            ASSERT_TRUE(page);
            ASSERT_EQ(page->physical, offset + 4711);
            ASSERT_TRUE(page->large);
            ASSERT_FALSE(page->user);
            ASSERT_EQ(page->flags, 0x80000000000000e3U); // not executable
        }
        for (const std::uint64_t offset : {end, end + gib, (map_most_tables - 1) * gib}) {
            EXPECT_FALSE(memory.translate(map_address + offset));
        }
    }
}

// So that nothing is a user's, whatever the last entry says.
TEST(PrivilegedLayout, NoTableIsAUsers) {
    const VmmMemory memory = memory_of(64 * mib);
    const kvm::Handover handover = make_handover(memory.layout());
    EXPECT_EQ(handover.guest_memory, 64 * mib);
    EXPECT_EQ(handover.vmm_memory, vmm_memory);
    for (unsigned index = 0; index < table_entries; ++index) {
        const bool is_last = index == table_entries - 1;
        EXPECT_EQ(memory.entry_of(handover.root, index), is_last ? handover.vmm_level3 | 0x63U : 0U);
        std::uint64_t expected = is_last ? handover.vmm_level2 | 0x63U : 0;
        if (index < memory.layout().map_tables()) {
            expected = memory.layout().physical(memory.layout().map_level2 + (index * page_size)) | 0x63U;
        }
        EXPECT_EQ(memory.entry_of(handover.vmm_level3, index), expected);
        EXPECT_EQ(memory.entry_of(handover.vmm_level2, index), is_last ? handover.vmm_level1 | 0x63U : 0U);
    }
    EXPECT_EQ(handover.network.sent.offset, memory.layout().sent.offset);
    EXPECT_EQ(handover.network.received.bytes, sizeof(monitored::PacketRing));
}

TEST(PrivilegedLayout, ImageAndPackageAreCopied) {
    const VmmMemory memory = memory_of(64 * mib);
    for (std::size_t i = sizeof(ImageHeader); i < kvm_text_bytes + kvm_data_bytes; ++i) {
        const bool in_file = i < kvm_text_bytes + kvm_data_file_bytes;
        ASSERT_EQ(memory.bytes()[i], in_file ? i % 256 : 0) << i;
    }
    const KvmLayout& layout = memory.layout();
    const auto count = [&](std::uint64_t offset, std::uint64_t bytes, std::uint8_t value) {
        const auto begin = memory.bytes().begin() + static_cast<std::ptrdiff_t>(offset);
        return static_cast<std::uint64_t>(
            std::count(begin, begin + static_cast<std::ptrdiff_t>(bytes), value));
    };
    EXPECT_EQ(count(layout.package.offset, layout.package.bytes, VmmMemory::package_byte),
              VmmMemory::package_bytes);
    EXPECT_EQ(count(layout.mailbox, page_size, 0), page_size);
    EXPECT_EQ(count(layout.devices, sizeof(Pc), 0), sizeof(Pc));
    for (const kvm::Part& part : {layout.output, layout.input, layout.free}) {
        EXPECT_EQ(count(part.offset, part.bytes, 0), part.bytes);
    }
}

} // namespace

} // namespace previrt
