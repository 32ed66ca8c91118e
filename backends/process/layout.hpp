// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

// Where things are in each of the guest's host processes: what user mode may address ends at 2^47.
namespace previrt::process {

constexpr unsigned page_shift = 12;
constexpr std::uint64_t page_size = 4096;
constexpr std::uint64_t large_page_size = std::uint64_t{1} << 21U;

// ---- the low 2 GiB, where sign-extended 32-bit addresses reach: what a kernel is linked for, and the VMM

// A relocatable kernel, slid from the last 2 GiB.
constexpr std::uint64_t kernel_address = 0x70000000;
constexpr std::uint64_t kernel_room = 0x08000000;
constexpr std::uint64_t modules_address = kernel_address + kernel_room;
constexpr std::uint64_t modules_end = 0x7fc00000;
// Memory of each process alone: stubs for user mode's system calls.
constexpr std::uint64_t calls_address = modules_end;
constexpr std::uint64_t calls_bytes = 0x10000;
// Memory of each process alone, where its signals are delivered.
constexpr std::uint64_t private_address = 0x7fd00000;
constexpr std::uint64_t private_bytes = 0x40000;
constexpr std::uint64_t image_address = 0x7fe00000;
constexpr std::uint64_t image_room = large_page_size;
constexpr unsigned handover_index = 508; // the page of it that holds the handover
constexpr std::uint64_t handover_address = image_address + (std::uint64_t{handover_index} << page_shift);

// ---- above: 512 GiB for each slot of a root table

constexpr std::uint64_t slot_bytes = std::uint64_t{1} << 39U;
// The guest's user mode ends where its RAM begins, which is Linux's direct map too.
constexpr std::uint64_t user_end = 0x400000000000;
constexpr std::uint64_t ram_address = user_end;
constexpr unsigned ram_slot = ram_address / slot_bytes;
constexpr std::uint64_t most_ram = slot_bytes;
constexpr std::uint64_t frame_table_address = 0x500000000000; // Linux's vmemmap
constexpr std::uint64_t vmalloc_address = 0x580000000000;     // and 32 TiB of it
constexpr std::uint64_t processor_area_address = 0x7e0000000000;
constexpr std::uint64_t espfix_address = 0x7e8000000000;
constexpr std::uint64_t fixed_map_slot_address = 0x7f0000000000;
// The VMM's own memory.
constexpr std::uint64_t arena_address = 0x7f8000000000;
constexpr unsigned arena_slot = arena_address / slot_bytes;
constexpr std::uint64_t host_end = 0x7ffffffff000; // of what a process has

// Of the guest's address spaces; the monitor ends a guest that makes more processes.
constexpr unsigned most_hosts = 128;

// ---- what the VMM finds open

constexpr int memory_descriptor = 3; // the VMM's memory, its image first, and behind it the guest's RAM
constexpr int output_event = 4;      // something is in the ring
constexpr int packet_event = 5;      // where there is a network: sent, or there is room in what comes
constexpr int life_line = 6;         // a pipe of the keeper's: when it ends, Linux kills all of the group
constexpr int keepers_end = 7;       // of it, which nobody else has

// By which the monitor calls.
constexpr int event_signal = 10; // SIGUSR1
constexpr int timer_signal = 14; // SIGALRM

} // namespace previrt::process
