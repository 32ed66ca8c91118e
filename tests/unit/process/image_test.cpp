// SPDX-License-Identifier: BSD-2-Clause
// Which files the monitor takes for a VMM, and what it refuses.
#include "monitor/process/image.hpp"

#include "backends/process/contract/layout.hpp"
#include "host/file.hpp"
#include "host/input_error.hpp"
#include "inplace-vmm/instruction_counts.hpp"
#include "monitor/process/host.hpp"
#include "monitor/process/layout.hpp"
#include "tests/unit/make_elf.hpp"
#include "toolchain/pack/vmm_image.hpp"

#include <gtest/gtest.h>
#include <limits>

namespace previrt {

namespace {

using namespace process;

constexpr std::uint64_t no_room = std::numeric_limits<std::uint64_t>::max();
constexpr std::uint64_t bytes_in_file = 300;
constexpr std::uint64_t bytes_in_memory = 8192;

// One segment, each byte of it its own number behind the header.
struct Parts {
    ImageHeader header{};
    Elf64_Phdr segment{};
};

std::vector<std::uint8_t> make_image(const std::function<void(Parts&)>& change = {}) {
    std::vector<std::uint8_t> contents(bytes_in_file);
    for (std::size_t i = 0; i < contents.size(); ++i) {
        contents[i] = static_cast<std::uint8_t>(i);
    }
    ElfBuilder builder(ET_EXEC);
    builder.add_code(".text", image_address, contents);
    ElfFile file = builder.build();
    const std::uint64_t offset = file.offset_of(".text");
    Parts parts;
    std::ranges::copy(image_magic, parts.header.magic);
    parts.header.image_end = image_address + bytes_in_memory;
    parts.header.event_word = image_address + 4096;
    parts.segment = load_segment(image_address, offset, bytes_in_file, bytes_in_memory);
    if (change) {
        change(parts);
    }
    std::memcpy(file.bytes.data() + offset, &parts.header, sizeof parts.header);
    return with_segments(file, std::to_array({parts.segment}), image_address);
}

void refused(const std::function<void(Parts&)>& change, const std::string& part) {
    try {
        read_process_image("vmm", make_image(change));
        ADD_FAILURE() << "taken, not refused: " << part;
    } catch (const InputError& error) {
        const std::string message = error.what();
        EXPECT_TRUE(message.starts_with("vmm: ")) << message;
        EXPECT_NE(message.find(part), std::string::npos) << message;
    }
}

TEST(ProcessImage, IsPutWhereItWasLinked) {
    const ProcessImage image = read_process_image("vmm", make_image());
    EXPECT_EQ(image.event_word_offset(), 4096U);
    std::vector<std::uint8_t> memory(image_room, 0xee);
    image.copy_to(memory);
    EXPECT_TRUE(std::equal(std::begin(image_magic), std::end(image_magic), memory.begin()));
    EXPECT_EQ(memory[bytes_in_file - 1], (bytes_in_file - 1) & 0xffU);
    EXPECT_EQ(memory[bytes_in_file], 0xee);
}

TEST(ProcessImage, TheVmmThatWasBuiltIsOne) {
    EXPECT_FALSE(read_process_image("vmm", read_vmm_image(Hypervisor::process)).segments.empty());
}

TEST(ProcessImage, SegmentsStayInTheVmms2MiB) {
    constexpr std::uint64_t room = handover_address - image_address;
    EXPECT_EQ(read_process_image("vmm", make_image([](auto& parts) { parts.segment.p_memsz = room; }))
                  .segments.front()
                  .memory_size,
              room);
    refused([](auto& parts) { parts.segment.p_memsz = room + 1; }, "outside the VMM's 2 MiB");
    refused([](auto& parts) { parts.segment.p_vaddr = handover_address; }, "outside the VMM's 2 MiB");
    refused([](auto& parts) { parts.segment.p_vaddr -= 4096; }, "outside the VMM's 2 MiB");
    refused([](auto& parts) { parts.segment.p_vaddr = 0; }, "outside the VMM's 2 MiB");
    refused([](auto& parts) { parts.segment.p_vaddr = no_room; }, "outside the VMM's 2 MiB");
    refused(
        [](auto& parts) {
            parts.segment.p_paddr = 0; // so that it does not wrap
            parts.segment.p_memsz = no_room;
        },
        "outside the VMM's 2 MiB");
    refused([](auto& parts) { parts.segment.p_offset = no_room; }, "outside the file");
    refused([](auto& parts) { parts.segment.p_filesz = parts.segment.p_memsz + 1; }, "");
}

TEST(ProcessImage, BeginsWithItsHeader) {
    refused([](auto& parts) { parts.header.magic[0] = 'x'; }, "magic");
    refused([](auto& parts) { parts.segment.p_vaddr += 4096; }, "does not begin with the header");
    refused([](auto& parts) { parts.segment.p_filesz = sizeof(ImageHeader) - 1; },
            "does not begin with the header");
    refused([](auto& parts) { parts.segment.p_type = PT_NULL; }, "does not begin with the header");
}

TEST(ProcessImage, TheMonitorsWordIsTheVmms) {
    for (const std::uint64_t word : {std::uint64_t{0}, image_address - 4, image_address + 1, handover_address,
                                     handover_address - 2, no_room}) {
        refused([&](auto& parts) { parts.header.event_word = word; }, "event word");
    }
    const auto last = [](auto& parts) { parts.header.event_word = handover_address - 4; };
    EXPECT_EQ(read_process_image("vmm", make_image(last)).event_word_offset(),
              handover_address - 4 - image_address);
}

TEST(ProcessImage, TheCountsAreTheVmms) {
    for (const std::uint64_t counts :
         {image_address - 8, image_address + 4, handover_address - sizeof(InstructionCounts) + 8, no_room}) {
        refused([&](auto& parts) { parts.header.instruction_counts = counts; }, "counts of instructions");
    }
    const auto last = [](auto& parts) {
        parts.header.instruction_counts = handover_address - sizeof(InstructionCounts);
    };
    EXPECT_EQ(read_process_image("vmm", make_image(last)).instruction_counts_offset(),
              handover_address - sizeof(InstructionCounts) - image_address);
    EXPECT_EQ(read_process_image("vmm", make_image()).instruction_counts_offset(), std::nullopt);
    EXPECT_TRUE(read_process_image("vmm", read_vmm_image(Hypervisor::process)).instruction_counts_offset());
}

// Nothing but an InputError may come of damage.
TEST(ProcessImage, AnyByteChangedOrMissing) {
    const std::vector<std::uint8_t> good = make_image();
    std::vector<std::uint8_t> memory(image_room);
    for (std::size_t at = 0; at < good.size(); ++at) {
        for (const int change : {0x00, 0xff, good[at] ^ 0x40}) {
            std::vector<std::uint8_t> changed = good;
            changed[at] = static_cast<std::uint8_t>(change);
            try {
                const ProcessImage image = read_process_image("vmm", changed);
                image.copy_to(memory);
                EXPECT_LT(image.event_word_offset(), image_room);
            } catch (const InputError& error) {
                EXPECT_TRUE(std::string(error.what()).starts_with("vmm: ")) << error.what();
            }
        }
        EXPECT_THROW(
            read_process_image("vmm", {good.begin(), good.begin() + static_cast<std::ptrdiff_t>(at)}),
            InputError);
    }
}

// ---- the file

TEST(ProcessLayout, PartsLieBehindEachOther) {
    constexpr std::uint64_t mib = std::uint64_t{1} << 20U;
    for (const std::uint64_t memory : {32 * mib, (33 * mib) + 5000, std::uint64_t{1} << 35U}) {
        for (const std::uint64_t package : {std::uint64_t{1}, std::uint64_t{4096}, 30 * mib}) {
            const Handover handover = lay_out_process(memory, package, 400);
            EXPECT_EQ(handover.guest_memory, memory / page_size * page_size);
            EXPECT_EQ(handover.package.bytes, package);
            EXPECT_EQ(handover.filter.bytes, 400U);
            std::uint64_t end = image_room;
            for (const monitored::Part& part :
                 {handover.output, handover.input, handover.filter, handover.package, handover.free}) {
                EXPECT_EQ(part.offset % page_size, 0U);
                EXPECT_GE(part.offset, end);
                end = part.offset + part.bytes;
            }
            EXPECT_GE(handover.vmm_bytes, end);
            EXPECT_EQ(handover.vmm_bytes % large_page_size, 0U);
            EXPECT_EQ(file_bytes(handover), handover.vmm_bytes + handover.guest_memory);
            EXPECT_GT(most_address_space(handover), file_bytes(handover) + handover.guest_memory);
        }
    }
}

TEST(ProcessLayout, MoreThanASlotOfMemoryIsRefused) {
    EXPECT_NO_THROW(lay_out_process(most_ram, 1, 1));
    EXPECT_THROW(lay_out_process(most_ram + page_size, 1, 1), InputError);
}

// ---- the machine

std::string refusal(const ProcessHost& host) {
    try {
        require_process_host(host);
    } catch (const InputError& error) {
        return error.what();
    }
    return "";
}

TEST(ProcessHost, WhatLacksIsSaidInALine) {
    EXPECT_EQ(refusal({.has_fsgsbase = true, .has_user_dispatch = true}), "");
    EXPECT_EQ(
        refusal({.has_fsgsbase = false, .has_user_dispatch = true}),
        "--on process: programs of this machine have no FSGSBASE instructions (an Intel Ivy Bridge or AMD "
        "Excavator processor or later, and Linux 5.9 or later)");
    EXPECT_EQ(refusal({.has_fsgsbase = true, .has_user_dispatch = false}),
              "--on process: this machine's Linux has no Syscall User Dispatch (5.11 or later)");
}

} // namespace

} // namespace previrt
