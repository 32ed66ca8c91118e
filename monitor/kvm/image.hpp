// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/kvm/deprivileged/contract/handover.hpp"
#include "backends/kvm/privileged/contract/mailbox.hpp"
#include "toolchain/pack/load_segments.hpp"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace previrt {

// A checked in-place VMM for KVM, from an ELF file: its segments lie in order in the last 2 MiB, before the
// monitor's pages, and contain everything that its header names.
struct VmmSegments {
    std::vector<std::uint8_t> file;
    std::vector<LoadSegment> segments; // by virtual address
    std::uint64_t bytes;               // in memory, from image_address on; whole pages

    // From image_address on.
    [[nodiscard]] static std::uint64_t offset_of(const LoadSegment& segment);
};

struct KvmImage : VmmSegments {
    kvm::ImageHeader header;

    // In the VMM's memory. nullopt: this VMM has none.
    [[nodiscard]] std::optional<std::uint64_t> instruction_counts_offset() const;
};
struct PrivilegedImage : VmmSegments {
    kvm_privileged::ImageHeader header;
};

// Each throws InputError: the message begins with the path.
KvmImage read_kvm_image(const std::string& path, std::vector<std::uint8_t> file);
PrivilegedImage read_privileged_image(const std::string& path, std::vector<std::uint8_t> file);

} // namespace previrt
