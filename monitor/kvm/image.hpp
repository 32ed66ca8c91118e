// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/kvm/deprivileged/contract/handover.hpp"
#include "backends/kvm/privileged/contract/mailbox.hpp"
#include "toolchain/pack/load_segments.hpp"

#include <cstdint>
#include <string>
#include <vector>

namespace previrt {

// An in-place VMM for KVM, an ELF file that has been checked: its segments lie behind each other in the last
// 2 MiB, before what the monitor puts there, and what its header names lies in them.
struct VmmSegments {
    std::vector<std::uint8_t> file;
    std::vector<LoadSegment> segments; // by virtual address
    std::uint64_t bytes;               // in memory, from image_address on; whole pages

    // From image_address on.
    [[nodiscard]] static std::uint64_t offset_of(const LoadSegment& segment);
};

struct KvmImage : VmmSegments {
    kvm::ImageHeader header;
};
struct PrivilegedImage : VmmSegments {
    kvm_privileged::ImageHeader header;
};

// Each throws InputError: the message begins with the path.
KvmImage read_kvm_image(const std::string& path, std::vector<std::uint8_t> file);
PrivilegedImage read_privileged_image(const std::string& path, std::vector<std::uint8_t> file);

} // namespace previrt
