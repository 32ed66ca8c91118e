// SPDX-License-Identifier: BSD-2-Clause
// The memory that a VMM for KVM begins with, its page tables read as a processor reads them.
#include "host/input_error.hpp"
#include "tests/unit/kvm/vmm_memory.hpp"

#include <gtest/gtest.h>
#include <optional>
#include <set>

namespace previrt {

namespace {

using namespace kvm;

VmmMemory memory_of(std::uint64_t guest_memory, const ProcessorPages& processors = {}) {
    const KvmImage image = read_kvm_image("vmm", make_kvm_image());
    return {image, lay_out(image.bytes, guest_memory, VmmMemory::package_bytes, processors)};
}

TEST(KvmLayout, PartsLieBehindEachOther) {
    for (const std::uint64_t guest_memory : {32 * mib, 33 * mib, 256 * mib, 5 * gib, 300 * gib}) {
        for (const std::uint64_t package : {std::uint64_t{1}, (5 * mib) + 1, 3 * gib}) {
            const KvmLayout layout = lay_out(3 * page_size, guest_memory, package, {});
            EXPECT_EQ(layout.physical(0) % large_page, 0U);
            EXPECT_GE(layout.physical(0), ram_base + guest_memory);
            EXPECT_LT(layout.physical(0), ram_base + guest_memory + large_page);
            EXPECT_EQ(layout.vmm_bytes % large_page, 0U);
            const std::uint64_t tables = ((layout.bytes() - 1) / gib) + 1;
            std::vector<Part> parts = {{0, 3 * page_size}, layout.output,
                                       layout.input,       layout.package,
                                       layout.free,        {layout.map_level2, tables * page_size}};
            for (const std::uint64_t page : {layout.root, layout.map_level3, layout.vmm_level3,
                                             layout.vmm_level2, layout.vmm_level1, layout.handover}) {
                parts.push_back({page, page_size});
            }
            std::ranges::sort(parts, {}, &Part::offset);
            std::uint64_t end = 0;
            for (const Part& part : parts) {
                EXPECT_EQ(part.offset % page_size, 0U);
                EXPECT_GE(part.offset, end);
                end = part.offset + part.bytes;
            }
            EXPECT_EQ(end, layout.vmm_bytes);
            EXPECT_EQ(layout.package.bytes, package);
            EXPECT_EQ(layout.free.bytes % page_size, 0U);
            const std::uint64_t frames = guest_memory / page_size;
            EXPECT_GE(layout.free.bytes, (((frames / 32) + 512) * (4096 + 256)) + (frames * 64) + (4 * mib));
        }
    }
}

TEST(KvmLayout, WhatTheMapCannotReachIsRefused) {
    EXPECT_NO_THROW(lay_out(page_size, 480 * gib, 1, {}));
    for (const std::uint64_t guest_memory : {512 * gib, 511 * gib, 1024 * gib, ~std::uint64_t{0}}) {
        EXPECT_THROW(lay_out(page_size, guest_memory, 1, {}), InputError);
    }
    EXPECT_THROW(lay_out(page_size, 32 * mib, ~std::uint64_t{0}, {}), InputError);
}

TEST(KvmLayout, EachProcessorSeesItsOwnPages) {
    constexpr unsigned count = 64;
    const std::uint64_t first = (kvm_data - image_address) / page_size;
    const VmmMemory memory =
        memory_of(64 * mib, {.processors = count, .first = first, .memory = {.own_bytes = page_size}});
    std::set<std::uint64_t> frames;
    for (unsigned processor = 0; processor < count; ++processor) {
        const Translation own = memory.translate(kvm_data, processor).value();
        EXPECT_TRUE(own.writable);
        EXPECT_TRUE(frames.insert(own.physical).second);
        EXPECT_LT(own.physical, memory.layout().physical(memory.layout().vmm_bytes));
        for (const std::uint64_t address :
             {image_address, kvm_data + page_size, handover_address, doorbell_address, map_address}) {
            EXPECT_EQ(memory.translate(address, processor).value().physical,
                      memory.translate(address).value().physical);
        }
    }
}

TEST(KvmLayout, ImageIsMappedAsItsSegmentsSay) {
    const VmmMemory memory = memory_of(64 * mib);
    for (std::uint64_t offset = 0; offset < kvm_text_bytes + kvm_data_bytes; offset += page_size) {
        const std::optional<Translation> page = memory.translate(image_address + offset);
        ASSERT_TRUE(page);
        EXPECT_EQ(page->physical, memory.layout().physical(offset));
        EXPECT_EQ(page->writable, offset >= kvm_text_bytes);
        EXPECT_TRUE(page->user);
        EXPECT_EQ(page->flags, page->writable ? 0x67U : 0x65U);
    }
    for (unsigned index = 3; index < table_entries; ++index) {
        const std::uint64_t address = image_address + (std::uint64_t{index} << page_shift);
        const std::optional<Translation> page = memory.translate(address);
        if (address == handover_address) {
            EXPECT_EQ(page->physical, memory.layout().physical(memory.layout().handover));
            EXPECT_EQ(page->flags, 0x67U);
        } else if (address == doorbell_address) {
            EXPECT_EQ(page->physical, doorbells);
            EXPECT_EQ(page->flags, 0x67U);
        } else if (address == local_apic_address) {
            EXPECT_EQ(page->physical, local_apic);
            EXPECT_EQ(page->flags, 0x77U);
        } else {
            EXPECT_FALSE(page) << index;
        }
    }
}

TEST(KvmLayout, ImageIsCopiedAndTheRestIsZero) {
    const VmmMemory memory = memory_of(64 * mib);
    for (std::size_t i = sizeof(ImageHeader); i < kvm_text_bytes + kvm_data_bytes; ++i) {
        const bool in_file = i < kvm_text_bytes + kvm_data_file_bytes;
        ASSERT_EQ(memory.bytes()[i], in_file ? i % 256 : 0) << i;
    }
    const KvmLayout& layout = memory.layout();
    const auto at = [&](std::uint64_t offset) {
        return memory.bytes().begin() + static_cast<std::ptrdiff_t>(offset);
    };
    EXPECT_EQ(std::count(at(layout.package.offset), at(layout.package.offset + layout.package.bytes), 0x5a),
              static_cast<std::ptrdiff_t>(VmmMemory::package_bytes));
    for (const Part& part : {layout.output, layout.input, layout.free}) {
        EXPECT_EQ(std::count(at(part.offset), at(part.offset + part.bytes), 0),
                  static_cast<std::ptrdiff_t>(part.bytes));
    }
}

TEST(KvmLayout, MapHoldsAllMemoryAndNothingElse) {
    for (const std::uint64_t guest_memory : {33 * mib, gib, 2047 * mib}) {
        const VmmMemory memory = memory_of(guest_memory);
        const std::uint64_t end = memory.layout().bytes();
        for (std::uint64_t offset = 0; offset < end; offset += large_page) {
            const std::optional<Translation> page = memory.translate(map_address + offset + 4711);
            ASSERT_TRUE(page);
            EXPECT_EQ(page->physical, ram_base + offset + 4711);
            EXPECT_TRUE(page->large);
            EXPECT_TRUE(page->user);
            EXPECT_EQ(page->flags, 0x80000000000000e7U); // not executable
        }
        for (const std::uint64_t offset : {end, end + gib, 511 * gib}) {
            EXPECT_FALSE(memory.translate(map_address + offset));
        }
    }
}

TEST(KvmLayout, HandoverNamesTheTables) {
    const VmmMemory memory = memory_of(64 * mib);
    const Handover handover = make_handover(memory.layout());
    EXPECT_EQ(handover.guest_memory, 64 * mib);
    EXPECT_EQ(handover.vmm_memory, ram_base + (64 * mib));
    for (unsigned index = 0; index < table_entries; ++index) {
        const std::uint64_t entry = memory.entry_of(handover.root, index);
        if (index == map_root_index) {
            EXPECT_EQ(entry, handover.map_level3 | 0x67U);
        } else if (index == table_entries - 1) {
            EXPECT_EQ(entry, handover.vmm_level3 | 0x67U);
        } else {
            EXPECT_EQ(entry, 0U);
        }
        const bool last = index == table_entries - 1;
        EXPECT_EQ(memory.entry_of(handover.vmm_level3, index), last ? handover.vmm_level2 | 0x67U : 0U);
        EXPECT_EQ(memory.entry_of(handover.vmm_level2, index), last ? handover.vmm_level1 | 0x67U : 0U);
    }
}

} // namespace

} // namespace previrt
