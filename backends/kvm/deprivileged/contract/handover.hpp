// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/common/contract/console_ports_start.hpp"
#include "backends/common/contract/console_ring.hpp"
#include "backends/common/contract/disk_start.hpp"
#include "backends/common/contract/folder_start.hpp"
#include "backends/common/contract/network_start.hpp"
#include "backends/common/contract/vsock_start.hpp"
#include "backends/common/monitor_link/clock.hpp"

#include <cstdint>

// The data that monitor and VMM exchange.
namespace previrt::kvm {

using monitored::ConsoleRing;
using monitored::Part;

// The image begins with this. Addresses are virtual: the monitor gives them to KVM.
struct ImageHeader {
    char magic[8];
    std::uint64_t entry; // started at CPL 3, in 64-bit mode, with no stack
    std::uint64_t global_table;
    std::uint64_t global_table_bytes;
    std::uint64_t local_table;
    std::uint64_t local_table_bytes;
    std::uint64_t interrupt_table;
    std::uint64_t interrupt_table_bytes;
    std::uint64_t task;
    std::uint64_t task_bytes;
    std::uint64_t event_word;           // 32 bits, the boot processor's: the monitor adds event_call
    std::uint64_t system_call;          // LSTAR
    std::uint64_t isolated_system_call; // the same, with --isolate
    // Of the other processors: `entry` for those, and their own pages. They begin with an interrupt.
    std::uint64_t processor_entry;
    std::uint64_t processor_start;
    std::uint64_t processor_end;
    std::uint64_t instruction_counts; // InstructionCounts, which the monitor reads; 0: none
};
constexpr char image_magic[8] = {'p', 'v', 't', '-', 'k', 'v', 'm', '\0'};

// One page, at handover_address, that the monitor writes before the start.
struct Handover {
    std::uint64_t guest_memory; // bytes of RAM from ram_base on
    std::uint64_t vmm_memory;   // its start, guest-physical
    Part package;
    Part free; // whole pages, zero
    Part output;
    Part input;
    // The page tables of the start, guest-physical. The root maps the map and the last 2 MiB, nothing else.
    std::uint64_t root;
    std::uint64_t map_level3;
    std::uint64_t vmm_level3; // these three map the last 2 MiB and nothing else
    std::uint64_t vmm_level2;
    std::uint64_t vmm_level1;
    monitored::ClockStart clock;
    monitored::NetworkStart network;
    monitored::DisksStart disks;
    monitored::VsockStart vsock;
    monitored::ConsolePortsStart console_ports;
    monitored::FoldersStart folders;
    std::uint64_t processors;
    Part other_processors;            // processor_memory.hpp, of each but the boot processor
    Part copied_tables;               // a byte for each page table
    Part stolen_times;                // KVM's struct kvm_steal_time for each processor; no bytes: it has none
    std::uint64_t isolates_user_mode; // 1: user mode has page tables of its own, beside the kernel's
    std::uint64_t rewrites_user_calls;
};

} // namespace previrt::kvm
