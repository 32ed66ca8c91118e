// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/kvm/deprivileged/contract/handover.hpp"
#include "backends/kvm/deprivileged/contract/processor_memory.hpp"
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

// The pages of the last 2 MiB that are each processor's own.
struct ProcessorPages {
    unsigned processors = 1;
    std::uint64_t first = 0; // the index of the first one
    kvm::ProcessorMemory memory{};
};

// The memory of a virtual machine: the guest's RAM, and the VMM's memory.
struct KvmLayout {
    std::uint64_t guest_memory;
    std::uint64_t ram_bytes; // the guest's memory in whole large pages
    std::uint64_t vmm_bytes; // also in whole large pages
    std::uint64_t ram_base;  // guest-physical; the map begins there
    std::uint64_t vmm_base;
    bool vmm_is_at_level_3;
    std::uint64_t map_address;
    std::vector<FixedPage> fixed_pages;
    // Offsets in the VMM's memory.
    std::uint64_t root;
    std::uint64_t map_level3; // in privileged mode the level 3 of the last 512 GiB, like vmm_level3
    std::uint64_t map_level2; // consecutive tables
    std::uint64_t vmm_level3;
    std::uint64_t vmm_level2;
    std::uint64_t vmm_level1;
    std::uint64_t handover;
    kvm::Part output;
    kvm::Part input;
    kvm::Part sent; // packets
    kvm::Part received;
    monitored::DisksStart disks;                // their rings
    monitored::VsockStart vsock;                // its rings
    monitored::ConsolePortsStart console_ports; // likewise
    monitored::FoldersStart folders;            // their links
    ProcessorPages processors;
    kvm::Part other_processors;
    kvm::Part copied_tables;
    kvm::Part stolen_times;
    kvm::Part package;
    kvm::Part free;
    std::uint64_t mailbox; // in privileged mode
    std::uint64_t devices; // likewise

    [[nodiscard]] std::uint64_t bytes() const { return ram_bytes + vmm_bytes; }
    // The number of level-2 tables of the map: the first entries of its level-3 table.
    [[nodiscard]] unsigned map_tables() const;
    // The guest-physical address of an offset in the VMM's memory.
    [[nodiscard]] std::uint64_t physical(std::uint64_t offset) const;
    // The offset of a processor's memory; not of the boot processor's.
    [[nodiscard]] std::uint64_t memory_of(unsigned processor) const;
    // The root with which a processor begins, guest-physical.
    [[nodiscard]] std::uint64_t first_root_of(unsigned processor) const;
};

// Each throws InputError if the map does not reach that far.
KvmLayout lay_out(std::uint64_t image_bytes, std::uint64_t guest_memory, std::uint64_t package_bytes,
                  const ProcessorPages& processors);
KvmLayout lay_out_privileged(std::uint64_t image_bytes, std::uint64_t guest_memory,
                             std::uint64_t package_bytes);

// Writes image, page tables and package into the VMM's memory, which is `layout.vmm_bytes` zeros.
void fill_vmm_memory(std::span<std::uint8_t> memory, const KvmLayout& layout, const VmmSegments& image,
                     std::span<const std::uint8_t> package);

// Without the time.
kvm::Handover make_handover(const KvmLayout& layout);

} // namespace previrt
