// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/kvm/deprivileged/contract/handover.hpp"
#include "monitor/kvm/image.hpp"

#include <cstdint>
#include <span>
#include <vector>

namespace previrt {

// A page of the last 2 MiB, behind the VMM's image.
struct FixedPage {
    unsigned index;
    std::uint64_t physical;
    bool cached = true;
};

// Where things are in the memory of a virtual machine: the guest's RAM, and the VMM's memory.
struct KvmLayout {
    std::uint64_t guest_memory;
    std::uint64_t ram_bytes; // the guest's memory in whole large pages
    std::uint64_t vmm_bytes; // likewise
    std::uint64_t ram_base;  // guest-physical; the map begins with it
    std::uint64_t vmm_base;
    bool vmm_is_at_level_3;
    std::uint64_t map_address;
    std::vector<FixedPage> fixed_pages;
    // In the VMM's memory.
    std::uint64_t root;
    std::uint64_t map_level3; // in privileged mode that of the last 512 GiB, as vmm_level3
    std::uint64_t map_level2; // one table behind the other
    std::uint64_t vmm_level3;
    std::uint64_t vmm_level2;
    std::uint64_t vmm_level1;
    std::uint64_t handover;
    kvm::Part output;
    kvm::Part input;
    kvm::Part sent; // packets
    kvm::Part received;
    kvm::Part package;
    kvm::Part free;
    std::uint64_t mailbox; // in privileged mode
    std::uint64_t devices; // likewise

    [[nodiscard]] std::uint64_t bytes() const { return ram_bytes + vmm_bytes; }
    // How many level-2 tables the map has: the first entries of its level-3 table.
    [[nodiscard]] unsigned map_tables() const;
    // Guest-physical, of an offset in the VMM's memory.
    [[nodiscard]] std::uint64_t physical(std::uint64_t offset) const;
};

// Each throws InputError where the map does not reach that far.
KvmLayout lay_out(std::uint64_t image_bytes, std::uint64_t guest_memory, std::uint64_t package_bytes);
KvmLayout lay_out_privileged(std::uint64_t image_bytes, std::uint64_t guest_memory,
                             std::uint64_t package_bytes);

// Writes image, page tables and package into the VMM's memory, which is `layout.vmm_bytes` zeros.
void fill_vmm_memory(std::span<std::uint8_t> memory, const KvmLayout& layout, const VmmSegments& image,
                     std::span<const std::uint8_t> package);

// But for the time.
kvm::Handover make_handover(const KvmLayout& layout);

} // namespace previrt
