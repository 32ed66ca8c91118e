// SPDX-License-Identifier: BSD-2-Clause
// The memory that a VMM for KVM begins with, its page tables read as a processor reads them.
#include "tests/unit/kvm/make_image.hpp"
#include "toolchain/image/input_error.hpp"
#include "toolchain/run/kvm_layout.hpp"

#include <gtest/gtest.h>
#include <optional>

namespace previrt {

namespace {

using namespace kvm;

constexpr std::uint64_t mib = std::uint64_t{1} << 20U;
constexpr std::uint64_t gib = mib << 10U;
constexpr std::uint64_t large_page = 2 * mib;

constexpr std::uint64_t frame_bits = 0x000ffffffffff000;

struct Translation {
    std::uint64_t physical;
    std::uint64_t flags; // of the last entry
    bool writable;       // on every level
    bool large;
};

class Memory {
public:
    explicit Memory(std::uint64_t guest_memory, std::size_t package_bytes = 10000)
        : image_(read_kvm_image("vmm", make_kvm_image())), package_(package_bytes, 0x5a),
          layout_(lay_out(image_.bytes, guest_memory, package_bytes)), bytes_(layout_.vmm_bytes) {
        fill_vmm_memory(bytes_, layout_, image_, package_);
    }

    [[nodiscard]] const KvmLayout& layout() const { return layout_; }
    [[nodiscard]] const std::vector<std::uint8_t>& bytes() const { return bytes_; }

    [[nodiscard]] std::optional<Translation> translate(std::uint64_t address) const {
        std::uint64_t table = make_handover(layout_).root;
        bool writable = true;
        for (unsigned level = 4; level != 0; --level) {
            const unsigned shift = 12 + (9 * (level - 1));
            const std::uint64_t entry = entry_of(table, (address >> shift) & 511U);
            constexpr std::uint64_t present_and_user = 5;
            if ((entry & present_and_user) != present_and_user) {
                return std::nullopt;
            }
            writable = writable && (entry & 2U) != 0;
            const bool large = level == 2 && (entry & 0x80U) != 0;
            const std::uint64_t frame = entry & frame_bits;
            if (level == 1 || large) {
                return Translation{.physical = frame | (address & ((std::uint64_t{1} << shift) - 1)),
                                   .flags = entry & ~frame_bits,
                                   .writable = writable,
                                   .large = large};
            }
            table = frame;
        }
        return std::nullopt;
    }

    [[nodiscard]] std::uint64_t entry_of(std::uint64_t table, std::uint64_t index) const {
        std::uint64_t entry = 0;
        std::memcpy(&entry, bytes_.data() + (table - layout_.physical(0)) + (8 * index), sizeof entry);
        return entry;
    }

private:
    KvmImage image_;
    std::vector<std::uint8_t> package_;
    KvmLayout layout_;
    std::vector<std::uint8_t> bytes_;
};

TEST(KvmLayout, PartsLieBehindEachOther) {
    for (const std::uint64_t guest_memory : {32 * mib, 33 * mib, 256 * mib, 5 * gib, 300 * gib}) {
        for (const std::uint64_t package : {std::uint64_t{1}, (5 * mib) + 1, 3 * gib}) {
            const KvmLayout layout = lay_out(3 * page_size, guest_memory, package);
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
    EXPECT_NO_THROW(lay_out(page_size, 480 * gib, 1));
    for (const std::uint64_t guest_memory : {512 * gib, 511 * gib, 1024 * gib, ~std::uint64_t{0}}) {
        EXPECT_THROW(lay_out(page_size, guest_memory, 1), InputError);
    }
    EXPECT_THROW(lay_out(page_size, 32 * mib, ~std::uint64_t{0}), InputError);
}

TEST(KvmLayout, ImageIsMappedAsItsSegmentsSay) {
    const Memory memory(64 * mib);
    for (std::uint64_t offset = 0; offset < kvm_text_bytes + kvm_data_bytes; offset += page_size) {
        const std::optional<Translation> page = memory.translate(image_address + offset);
        ASSERT_TRUE(page);
        EXPECT_EQ(page->physical, memory.layout().physical(offset));
        EXPECT_EQ(page->writable, offset >= kvm_text_bytes);
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
    const Memory memory(64 * mib);
    for (std::size_t i = sizeof(ImageHeader); i < kvm_text_bytes + kvm_data_bytes; ++i) {
        const bool in_file = i < kvm_text_bytes + kvm_data_file_bytes;
        ASSERT_EQ(memory.bytes()[i], in_file ? i % 256 : 0) << i;
    }
    const KvmLayout& layout = memory.layout();
    const auto at = [&](std::uint64_t offset) {
        return memory.bytes().begin() + static_cast<std::ptrdiff_t>(offset);
    };
    EXPECT_EQ(std::count(at(layout.package.offset), at(layout.package.offset + layout.package.bytes), 0x5a),
              10000);
    for (const Part& part : {layout.output, layout.input, layout.free}) {
        EXPECT_EQ(std::count(at(part.offset), at(part.offset + part.bytes), 0),
                  static_cast<std::ptrdiff_t>(part.bytes));
    }
}

TEST(KvmLayout, MapHoldsAllMemoryAndNothingElse) {
    for (const std::uint64_t guest_memory : {33 * mib, gib, 2047 * mib}) {
        const Memory memory(guest_memory);
        const std::uint64_t end = memory.layout().bytes();
        for (std::uint64_t offset = 0; offset < end; offset += large_page) {
            const std::optional<Translation> page = memory.translate(map_address + offset + 4711);
            ASSERT_TRUE(page);
            EXPECT_EQ(page->physical, ram_base + offset + 4711);
            EXPECT_TRUE(page->large);
            EXPECT_EQ(page->flags, 0x80000000000000e7U); // not executable
        }
        for (const std::uint64_t offset : {end, end + gib, 511 * gib}) {
            EXPECT_FALSE(memory.translate(map_address + offset));
        }
    }
}

TEST(KvmLayout, HandoverNamesTheTables) {
    const Memory memory(64 * mib);
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
