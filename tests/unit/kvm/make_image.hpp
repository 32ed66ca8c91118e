// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/kvm/deprivileged/contract/handover.hpp"
#include "backends/kvm/deprivileged/contract/layout.hpp"
#include "backends/kvm/privileged/contract/mailbox.hpp"
#include "devices/platform/pc.hpp"
#include "tests/unit/make_elf.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

namespace previrt {

// A VMM's image for KVM: text of 4 KiB, and data of 100 bytes in the file and 8 KiB in memory behind it, each
// byte of them its own number.
template <typename Header>
struct ImageParts {
    Header header{};
    Elf64_Phdr text{};
    Elf64_Phdr data{};
};
using KvmImageParts = ImageParts<kvm::ImageHeader>;
using PrivilegedImageParts = ImageParts<kvm_privileged::ImageHeader>;

constexpr std::uint64_t kvm_text_bytes = 4096;
constexpr std::uint64_t kvm_data_file_bytes = 100;
constexpr std::uint64_t kvm_data_bytes = 8192;

constexpr std::uint64_t kvm_text = kvm::image_address;
constexpr std::uint64_t kvm_data = kvm_text + kvm_text_bytes;

template <typename Header>
std::vector<std::uint8_t> make_image(const Header& header,
                                     const std::function<void(ImageParts<Header>&)>& change) {
    std::vector<std::uint8_t> contents(kvm_text_bytes + kvm_data_file_bytes);
    for (std::size_t i = 0; i < contents.size(); ++i) {
        contents[i] = static_cast<std::uint8_t>(i);
    }
    ElfBuilder builder(ET_EXEC);
    builder.add_code(".text", kvm_text, contents);
    ElfFile file = builder.build();
    const std::uint64_t offset = file.offset_of(".text");

    ImageParts<Header> parts{.header = header};
    parts.text = load_segment(kvm_text, offset, kvm_text_bytes, kvm_text_bytes, PF_R | PF_X);
    parts.data =
        load_segment(kvm_data, offset + kvm_text_bytes, kvm_data_file_bytes, kvm_data_bytes, PF_R | PF_W);
    if (change) {
        change(parts);
    }
    std::memcpy(file.bytes.data() + offset, &parts.header, sizeof parts.header);
    return with_segments(file, std::to_array({parts.data, parts.text}), kvm_text);
}

inline std::vector<std::uint8_t> make_kvm_image(const std::function<void(KvmImageParts&)>& change = {}) {
    kvm::ImageHeader header{};
    std::ranges::copy(kvm::image_magic, header.magic);
    header.entry = kvm_text + 200;
    header.global_table = kvm_data + 128;
    header.global_table_bytes = 64;
    header.local_table = kvm_data + 192;
    header.local_table_bytes = 16;
    header.interrupt_table = kvm_data + 4096;
    header.interrupt_table_bytes = 4096;
    header.task = kvm_data + 256;
    header.task_bytes = 104;
    header.event_word = kvm_data + 512;
    header.system_call = header.isolated_system_call = kvm_text + 300;
    header.processor_entry = kvm_text + 400;
    header.processor_start = kvm_data + kvm::page_size;
    header.processor_end = kvm_data + (2 * kvm::page_size);
    return make_image(header, change);
}

inline std::vector<std::uint8_t>
make_privileged_image(const std::function<void(PrivilegedImageParts&)>& change = {}) {
    kvm_privileged::ImageHeader header{};
    std::ranges::copy(kvm_privileged::image_magic, header.magic);
    header.entry = kvm_text + 200;
    header.stack_top = kvm_data + kvm_data_bytes;
    header.device_bytes = sizeof(Pc);
    return make_image(header, change);
}

} // namespace previrt
