// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "inplace-vmm/backend/disk.hpp"
#include "inplace-vmm/backend/folder.hpp"

#include <cstdint>

// The address space: the monitor builds it before the first instruction, and the VMM uses it.
namespace previrt::kvm {

constexpr unsigned page_shift = 12;
constexpr std::uint64_t page_size = 4096;
constexpr unsigned table_entries = 512;

// ---- guest-physical, as KVM knows it

// The guest's RAM, which begins at 0 for the guest, lies above the part of the first 4 GiB that a PC uses.
// The VMM's memory follows, 2 MiB aligned, with its image at the start.
constexpr std::uint64_t ram_base = std::uint64_t{1} << 32U;
constexpr std::uint64_t local_apic = 0xfee00000;
// No memory: a store exits to the monitor.
constexpr std::uint64_t doorbells = 0xd0000000;
constexpr std::uint64_t doorbell_output = 0;   // 4 bytes, an ioeventfd: the output ring has bytes
constexpr std::uint64_t doorbell_end = 8;      // 4 bytes: the guest has ended, and the console says how
constexpr std::uint64_t doorbell_packets = 16; // 4 bytes, an ioeventfd: packets, or room for some
constexpr std::uint64_t doorbell_vsock = 40;   // 4 bytes, an ioeventfd: packets of vsock, or room for some
constexpr std::uint64_t doorbell_console_ports = 48; // likewise, of the ports of the console device
// 8 bytes: the monitor takes pages back, which read as zeros from then on. The lower half is the first page's
// number, counted from ram_base; the upper half is how many.
constexpr std::uint64_t doorbell_release = 32;
// 4 bytes each, an ioeventfd: requests, or room for completions.
constexpr std::uint64_t doorbell_of_disk(unsigned disk) {
    return 56 + (std::uint64_t{disk} * 8);
}
constexpr std::uint64_t doorbell_folders =
    doorbell_of_disk(backend::most_disks); // likewise: a folder begins or ends
// Likewise, of the folder's server: the queue has requests.
constexpr std::uint64_t doorbell_of_folder(unsigned folder, unsigned queue) {
    return doorbell_folders + 8 + (((std::uint64_t{folder} * backend::most_folder_queues) + queue) * 8);
}

// Of each processor, in KVM's form (struct kvm_steal_time).
constexpr std::uint64_t stolen_time_bytes = 64;

// ---- virtual

constexpr std::uint64_t image_address = 0xffffffffffe00000;
// In the table of the last 2 MiB, behind the image.
constexpr unsigned handover_index = 508;
constexpr unsigned doorbell_index = 509;
constexpr unsigned local_apic_index = 510;
constexpr std::uint64_t handover_address = image_address + (std::uint64_t{handover_index} << page_shift);
constexpr std::uint64_t doorbell_address = image_address + (std::uint64_t{doorbell_index} << page_shift);
constexpr std::uint64_t local_apic_address = image_address + (std::uint64_t{local_apic_index} << page_shift);

// The guest's RAM and the VMM's memory, from ram_base on, in a slot that Linux documents as an unused hole
// with 4-level paging.
constexpr unsigned map_root_index = 509;
constexpr std::uint64_t map_address = 0xfffffe8000000000;

// LDTR and TR name the VMM's own tables by these. The monitor gives KVM the whole register, so KVM reads no
// descriptor.
constexpr std::uint16_t selector_local_table = 0x1010;
constexpr std::uint16_t selector_task = 0x1020;

// The vector of all events: the local APIC's timer, the monitor's calls, and other processors' interrupts.
constexpr unsigned event_vector = 0xf0;
// The monitor adds this to the event word before it calls.
constexpr std::uint32_t event_call = 4;

} // namespace previrt::kvm
