// SPDX-License-Identifier: BSD-2-Clause
// Which files the monitor takes for a VMM in privileged mode.
#include "backends/kvm/privileged/contract/layout.hpp"
#include "host/input_error.hpp"
#include "monitor/kvm/image.hpp"
#include "tests/unit/kvm/make_image.hpp"

#include <gtest/gtest.h>

namespace previrt {

namespace {

using namespace kvm_privileged;

constexpr std::uint64_t most = ~std::uint64_t{0};
constexpr std::uint64_t end = kvm_data + kvm_data_bytes;

void refused(const std::function<void(PrivilegedImageParts&)>& change, const std::string& part) {
    try {
        read_privileged_image("vmm", make_privileged_image(change));
        ADD_FAILURE() << "taken, not refused: " << part;
    } catch (const InputError& error) {
        const std::string message = error.what();
        EXPECT_TRUE(message.starts_with("vmm: ")) << message;
        EXPECT_NE(message.find(part), std::string::npos) << message;
    }
}

TEST(PrivilegedImage, IsReadAsLinked) {
    const PrivilegedImage image = read_privileged_image("vmm", make_privileged_image());
    ASSERT_EQ(image.segments.size(), 2U);
    EXPECT_EQ(image.header.entry, kvm_text + 200);
    EXPECT_EQ(image.header.stack_top, end);
    EXPECT_EQ(image.bytes, kvm_text_bytes + kvm_data_bytes);
}

TEST(PrivilegedImage, IsOfItsOwnMode) {
    refused([](auto& parts) { parts.header.magic[6] = 'm'; }, "magic");
    refused([](auto& parts) { parts.header.magic[7] = 'x'; }, "magic");
    EXPECT_THROW(read_privileged_image("vmm", make_kvm_image()), InputError);
    EXPECT_THROW(read_kvm_image("vmm", make_privileged_image()), InputError);
    refused([](auto& parts) { parts.text.p_filesz = sizeof(ImageHeader) - 1; },
            "does not begin with the header");
}

TEST(PrivilegedImage, SegmentsEndBeforeTheRings) {
    constexpr std::uint64_t room = output_address - kvm_data;
    const auto image = [](std::uint64_t bytes) {
        return make_privileged_image([bytes](auto& parts) { parts.data.p_memsz = bytes; });
    };
    EXPECT_EQ(read_privileged_image("vmm", image(room)).bytes, output_address - image_address);
    refused([](auto& parts) { parts.data.p_memsz = room + 1; }, "outside the VMM's part");
    refused([](auto& parts) { parts.data.p_vaddr = output_address; }, "outside the VMM's part");
    refused([](auto& parts) { parts.data.p_vaddr = mailbox_address; }, "outside the VMM's part");
    refused([](auto& parts) { parts.data.p_vaddr = 0; }, "outside the VMM's part");
}

TEST(PrivilegedImage, EntryAndStackLieInIt) {
    for (const std::uint64_t entry : {std::uint64_t{0}, kvm_text - 1, end, output_address, most}) {
        refused([entry](auto& parts) { parts.header.entry = entry; }, "entry lies outside");
    }
    for (const std::uint64_t top :
         {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{4095}, std::uint64_t{4096}, kvm_text,
          kvm_text + 4095, kvm_data + 1, kvm_data + 4095, end + 1, output_address, most}) {
        refused([top](auto& parts) { parts.header.stack_top = top; }, "stack lies outside");
    }
    const auto with_stack = [](std::uint64_t top) {
        return make_privileged_image([top](auto& parts) { parts.header.stack_top = top; });
    };
    EXPECT_NO_THROW(read_privileged_image("vmm", with_stack(kvm_data + 4096)));
}

TEST(PrivilegedImage, StackIsWritable) {
    refused([](auto& parts) { parts.header.stack_top = kvm_data; }, "stack lies outside");
    refused([](auto& parts) { parts.data.p_flags = PF_R; }, "stack lies outside");
}

TEST(PrivilegedImage, DevicesAreOfOnePrevirt) {
    for (const std::uint64_t bytes : {std::uint64_t{0}, sizeof(Pc) - 1, sizeof(Pc) + 1, most}) {
        refused([bytes](auto& parts) { parts.header.device_bytes = bytes; },
                "its devices are of another previrt");
    }
}

// Nothing but an InputError may come of damage.
TEST(PrivilegedImage, AnyByteChangedOrMissing) {
    const std::vector<std::uint8_t> good = make_privileged_image();
    for (std::size_t at = 0; at < good.size(); ++at) {
        for (const int change : {0x00, 0xff, good[at] ^ 0x40}) {
            std::vector<std::uint8_t> changed = good;
            changed[at] = static_cast<std::uint8_t>(change);
            try {
                EXPECT_LE(read_privileged_image("vmm", changed).bytes, output_address - image_address);
            } catch (const InputError& error) {
                EXPECT_TRUE(std::string(error.what()).starts_with("vmm: ")) << error.what();
            }
        }
        EXPECT_THROW(
            read_privileged_image("vmm", {good.begin(), good.begin() + static_cast<std::ptrdiff_t>(at)}),
            InputError);
    }
}

} // namespace

} // namespace previrt
