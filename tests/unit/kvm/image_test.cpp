// SPDX-License-Identifier: BSD-2-Clause
// Which files the monitor takes for a VMM.
#include "host/input_error.hpp"
#include "monitor/kvm/image.hpp"
#include "tests/unit/kvm/make_image.hpp"

#include <gtest/gtest.h>
#include <limits>

namespace previrt {

namespace {

using namespace kvm;

constexpr std::uint64_t no_room = std::numeric_limits<std::uint64_t>::max();

void refused(const std::function<void(KvmImageParts&)>& change, const std::string& part) {
    try {
        read_kvm_image("vmm", make_kvm_image(change));
        ADD_FAILURE() << "taken, not refused: " << part;
    } catch (const InputError& error) {
        const std::string message = error.what();
        EXPECT_TRUE(message.starts_with("vmm: ")) << message;
        EXPECT_NE(message.find(part), std::string::npos) << message;
    }
}

TEST(KvmImage, IsReadAsLinked) {
    const KvmImage image = read_kvm_image("vmm", make_kvm_image());
    ASSERT_EQ(image.segments.size(), 2U);
    EXPECT_EQ(KvmImage::offset_of(image.segments[0]), 0U); // they are in order, whatever the file's is
    EXPECT_EQ(KvmImage::offset_of(image.segments[1]), kvm_text_bytes);
    EXPECT_FALSE(image.segments[0].writable);
    EXPECT_TRUE(image.segments[1].writable);
    EXPECT_EQ(image.header.entry, image_address + 200);
    EXPECT_EQ(image.bytes, kvm_text_bytes + kvm_data_bytes);
}

TEST(KvmImage, SegmentsStayInTheirPartOfTheLast2MiB) {
    constexpr std::uint64_t room = handover_address - image_address - kvm_text_bytes;
    EXPECT_EQ(read_kvm_image("vmm", make_kvm_image([](auto& parts) { parts.data.p_memsz = room; })).bytes,
              handover_address - image_address);
    refused([](auto& parts) { parts.data.p_memsz = room + 1; }, "outside the VMM's part");
    refused([](auto& parts) { parts.data.p_vaddr = handover_address; }, "outside the VMM's part");
    refused([](auto& parts) { parts.data.p_vaddr = image_address - page_size; }, "outside the VMM's part");
    refused([](auto& parts) { parts.data.p_vaddr = 0; }, "outside the VMM's part");
    refused([](auto& parts) { parts.data.p_vaddr = no_room; }, "outside the VMM's part");
    refused(
        [](auto& parts) {
            parts.data.p_paddr = 0; // so that it does not wrap
            parts.data.p_memsz = no_room;
        },
        "outside the VMM's part");
    refused([](auto& parts) { parts.data.p_vaddr -= 1; }, "overlap");
    refused([](auto& parts) { parts.data.p_offset = no_room; }, "outside the file");
    refused([](auto& parts) { parts.data.p_filesz = parts.data.p_memsz + 1; }, "");
}

TEST(KvmImage, BeginsWithItsHeader) {
    refused([](auto& parts) { parts.header.magic[0] = 'x'; }, "magic");
    refused(
        [](auto& parts) {
            parts.text.p_vaddr += 64;
            parts.text.p_filesz = parts.text.p_memsz = kvm_text_bytes - 64;
        },
        "does not begin with the header");
    refused([](auto& parts) { parts.text.p_filesz = sizeof(ImageHeader) - 1; },
            "does not begin with the header");
    refused([](auto& parts) { parts.text.p_type = parts.data.p_type = PT_NULL; },
            "does not begin with the header");
}

TEST(KvmImage, WhatTheHeaderNamesLiesInIt) {
    refused([](auto& parts) { parts.header.entry = 0; }, "entry lies outside");
    refused([](auto& parts) { parts.header.entry = image_address + kvm_text_bytes + kvm_data_bytes; },
            "entry lies outside");
    refused([](auto& parts) { parts.header.system_call = no_room; }, "system call's entry lies outside");
    refused([](auto& parts) { parts.header.isolated_system_call = 0; },
            "isolated system call's entry lies outside");
    refused([](auto& parts) { parts.header.global_table = no_room; }, "global descriptor table lies outside");
    refused([](auto& parts) { parts.header.local_table = image_address - 8; },
            "local descriptor table lies outside");
    refused([](auto& parts) { parts.header.interrupt_table += 1; },
            "interrupt descriptor table lies outside");
    refused([](auto& parts) { parts.header.task = image_address + kvm_text_bytes + kvm_data_bytes - 103; },
            "task state lies outside");
    refused([](auto& parts) { parts.header.task_bytes = 103; }, "task state has 103 bytes");
    refused([](auto& parts) { parts.header.processor_entry = 0; }, "other processors' entry lies outside");
    for (const auto& pages : {std::pair(kvm_data + 1, kvm_data + page_size),
                              {kvm_data, kvm_data + 1},
                              {kvm_data + page_size, kvm_data}}) {
        refused(
            [&](auto& parts) {
                parts.header.processor_start = pages.first;
                parts.header.processor_end = pages.second;
            },
            "processors' own memory is not in whole pages");
    }
    refused([](auto& parts) { parts.header.processor_end = image_address + (508 * page_size); },
            "processors' own memory lies outside its writable segments");
    refused([](auto& parts) { parts.header.event_word += 1; }, "event word is not aligned");
    refused([](auto& parts) { parts.header.instruction_counts = kvm_data + 4; },
            "counts of instructions are not aligned");
    refused([](auto& parts) { parts.header.instruction_counts = kvm_data; },
            "counts of instructions lies outside"); // they are larger
    refused([](auto& parts) { parts.header.event_word = image_address; },
            "event word lies outside its writable");
    refused([](auto& parts) { parts.header.global_table_bytes = 65537; },
            "global descriptor table has 65537 bytes");
    refused([](auto& parts) { parts.header.local_table_bytes = 0; }, "local descriptor table has 0 bytes");
}

// Nothing but an InputError may come of damage.
TEST(KvmImage, AnyByteChangedOrMissing) {
    const std::vector<std::uint8_t> good = make_kvm_image();
    for (std::size_t at = 0; at < good.size(); ++at) {
        for (const int change : {0x00, 0xff, good[at] ^ 0x40}) {
            std::vector<std::uint8_t> changed = good;
            changed[at] = static_cast<std::uint8_t>(change);
            try {
                EXPECT_LE(read_kvm_image("vmm", changed).bytes, handover_address - image_address);
            } catch (const InputError& error) {
                EXPECT_TRUE(std::string(error.what()).starts_with("vmm: ")) << error.what();
            }
        }
        EXPECT_THROW(read_kvm_image("vmm", {good.begin(), good.begin() + static_cast<std::ptrdiff_t>(at)}),
                     InputError);
    }
}

} // namespace

} // namespace previrt
