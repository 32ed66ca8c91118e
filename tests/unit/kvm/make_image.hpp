// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/kvm/handover.hpp"
#include "backends/kvm/layout.hpp"
#include "tests/unit/make_elf.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <vector>

namespace previrt {

// A VMM's image for KVM: text of 4 KiB, and data of 100 bytes in the file and 8 KiB in memory behind it, each
// byte of them its own number.
struct KvmImageParts {
    kvm::ImageHeader header{};
    Elf64_Phdr text{};
    Elf64_Phdr data{};
};

constexpr std::uint64_t kvm_text_bytes = 4096;
constexpr std::uint64_t kvm_data_file_bytes = 100;
constexpr std::uint64_t kvm_data_bytes = 8192;

inline std::vector<std::uint8_t> make_kvm_image(const std::function<void(KvmImageParts&)>& change = {}) {
    constexpr std::uint64_t text = kvm::image_address;
    constexpr std::uint64_t data = text + kvm_text_bytes;
    std::vector<std::uint8_t> contents(kvm_text_bytes + kvm_data_file_bytes);
    for (std::size_t i = 0; i < contents.size(); ++i) {
        contents[i] = static_cast<std::uint8_t>(i);
    }
    ElfBuilder builder(ET_EXEC);
    builder.add_code(".text", text, contents);
    ElfFile file = builder.build();
    const std::uint64_t offset = file.offset_of(".text");

    KvmImageParts parts;
    parts.header.entry = text + 200;
    parts.header.global_table = data + 128;
    parts.header.global_table_bytes = 64;
    parts.header.local_table = data + 192;
    parts.header.local_table_bytes = 16;
    parts.header.interrupt_table = data + 4096;
    parts.header.interrupt_table_bytes = 4096;
    parts.header.task = data + 256;
    parts.header.task_bytes = 104;
    parts.header.system_call = parts.header.isolated_system_call = text + 300;
    parts.header.system_call_32 = parts.header.isolated_system_call_32 = text + 400;
    parts.text = load_segment(text, offset, kvm_text_bytes, kvm_text_bytes, PF_R | PF_X);
    parts.data =
        load_segment(data, offset + kvm_text_bytes, kvm_data_file_bytes, kvm_data_bytes, PF_R | PF_W);
    std::ranges::copy(kvm::image_magic, parts.header.magic);
    if (change) {
        change(parts);
    }
    std::memcpy(file.bytes.data() + offset, &parts.header, sizeof parts.header);
    return with_segments(file, std::to_array({parts.data, parts.text}), text);
}

} // namespace previrt
