// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "inplace-vmm/backend/disk.hpp"
#include "inplace-vmm/backend/folder.hpp"

#include <cstdint>

// The address space of the guest's host processes. User mode's addresses end at 2^47.
namespace previrt::process {

constexpr unsigned page_shift = 12;
constexpr std::uint64_t page_size = 4096;
constexpr std::uint64_t large_page_size = std::uint64_t{1} << 21U;

// ---- the low 2 GiB, which sign-extended 32-bit addresses reach: the kernel as it is linked, and the VMM.
// Linux keeps programs off all of it, from its own image to the modules' end.

// A relocatable kernel, slid from the last 2 GiB.
constexpr std::uint64_t kernel_address = 0x70000000;
constexpr std::uint64_t kernel_room = 0x08000000;
constexpr std::uint64_t image_address = kernel_address + kernel_room;
constexpr std::uint64_t image_room = large_page_size;
constexpr unsigned handover_index = 508; // the page of the image's room that holds the handover
constexpr std::uint64_t handover_address = image_address + (std::uint64_t{handover_index} << page_shift);
// Memory of each process alone: stubs for user mode's system calls. A program that jumps into the middle of a
// rewritten system call executes the bytes 2f, and e4 to e7 or ec to ef, of a slot's address, and they fault.
constexpr std::uint64_t calls_address = image_address + image_room + 0xf0000;
constexpr std::uint64_t calls_bytes = 0x10000;
constexpr std::uint64_t slots_offset = 0xe000;
static_assert(((calls_address + slots_offset) & 0xfff000) == 0x2fe000);
// Memory of each process alone: the stack of its signals.
constexpr std::uint64_t private_address = calls_address + calls_bytes;
constexpr std::uint64_t private_bytes = 0x40000;
// With --isolate, of each user process: a stub, which all share, then calls_bytes as above, and the memory
// shared with the VMM, at the address at which a host process of the kernel has its signals' stack.
constexpr std::uint64_t user_stub_address = calls_address - page_size;
constexpr std::uint64_t user_state_address = private_address;
constexpr std::uint64_t user_state_bytes = 0x20000;
static_assert(user_state_bytes <= private_bytes);
constexpr std::uint64_t user_own_end = user_state_address + user_state_bytes;
constexpr std::uint64_t modules_address = image_address + (2 * large_page_size);
static_assert(private_address + private_bytes <= modules_address);
constexpr std::uint64_t modules_end = 0x7fff0000; // AddressSanitizer's shadow memory begins at 0x7fff7000

// ---- above: the guest's kernel and the VMM have the last two slots of 512 GiB, the guest's user mode all
// before. Sanitizers want fixed addresses for their memory: up to 0x640000000000, and from 0x7e8000000000 on
// for the guest's libraries and stacks.

constexpr std::uint64_t slot_bytes = std::uint64_t{1} << 39U;
constexpr std::uint64_t user_end = 0x7f0000000000;
// The guest's RAM, which is Linux's direct map too, and the VMM's own memory: no shadow table maps their
// slot.
constexpr std::uint64_t ram_address = user_end;
constexpr unsigned ram_slot = ram_address / slot_bytes;
constexpr std::uint64_t most_ram = slot_bytes / 2;
constexpr std::uint64_t arena_address = ram_address + most_ram;
// The rest of Linux's layout, which the shadow tables map. Linux wants espfix at the start of a slot, and
// uses half of the slot.
constexpr std::uint64_t mapped_slot_address = ram_address + slot_bytes;
constexpr std::uint64_t espfix_address = mapped_slot_address;
constexpr std::uint64_t vmalloc_address = espfix_address + (slot_bytes / 2);
constexpr std::uint64_t vmalloc_bytes = std::uint64_t{192} << 30U;
constexpr std::uint64_t frame_table_address = vmalloc_address + vmalloc_bytes; // Linux's vmemmap
constexpr std::uint64_t processor_area_address = 0x7ff800000000;
constexpr std::uint64_t fixed_map_address = 0x7fff00000000;
constexpr std::uint64_t host_end = 0x7ffffffff000; // of a process's address space

// Of the VMM's memory, for each processor: the pages that are its own, and local descriptor tables.
constexpr std::uint64_t most_processor_bytes = 0x50000;

// Address spaces of the guest; a guest with little memory has fewer (Handover::most_hosts), and the VMM
// refuses more.
constexpr unsigned most_hosts = 128;

// ---- open descriptors of the VMM

constexpr int memory_descriptor = 3; // the VMM's memory, its image first, and behind it the guest's RAM
constexpr int output_event = 4;      // the output ring has bytes
constexpr int packet_event = 5;      // with a network: packets, or room for some
constexpr int vsock_event = 6;       // with a command: packets of vsock, or room for some
constexpr int life_line = 7;   // a pipe of the keeper's: when the keeper ends, Linux kills the whole group
constexpr int keepers_end = 8; // of the pipe; no other process has it
constexpr int console_ports_event = 9; // with ports of a console device: packets of theirs, or room for some
constexpr int first_disk_event = 10;   // for each disk: requests, or room for completions
constexpr int folders_event = first_disk_event + int{backend::most_disks}; // a folder begins or ends
constexpr int first_folder_event = folders_event + 1; // for each queue of each folder: requests
constexpr int folder_event(unsigned folder, unsigned queue) {
    return first_folder_event + static_cast<int>((folder * backend::most_folder_queues) + queue);
}
constexpr int last_event = folder_event(backend::most_folders, 0) - 1;
// With --isolate, one for each processor: the requests of its user processes. The VMM makes them. Its filter
// permits blocks of these numbers by a mask.
constexpr int first_user_listener = 32;
constexpr unsigned most_user_listeners = 64;
constexpr unsigned user_listeners_in_block = 32;
static_assert(first_user_listener > last_event && first_user_listener % int{user_listeners_in_block} == 0);

// The monitor's doorbell.
constexpr int event_signal = 10; // SIGUSR1
// The VMM stops a user process by this signal, because a process without a handler ignores it (SIGURG).
constexpr int user_signal = 23;
constexpr int timer_signal = 14; // SIGALRM

} // namespace previrt::process
