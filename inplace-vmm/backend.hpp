// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "ethernet/unfinished.hpp"

#include <array>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string_view>

// What a back-end provides. One image holds one back-end, so the linker binds these: no call is virtual.
namespace previrt {

struct KnownSite;
enum class SiteKind : std::uint8_t;

namespace backend {

// ---- memory

// The guest's RAM, as the VMM sees it: guest-physical address 0 is at the start.
std::uint8_t* guest_ram();
std::uint64_t guest_ram_bytes();
// What a page-table entry says to reach a frame of guest RAM.
std::uint64_t machine_frame(std::uint64_t guest_frame);
std::uint64_t guest_frame_of(std::uint64_t machine_frame); // past guest_ram_bytes(): not the guest's
// The VMM is about to write to this page of RAM, where guest_ram() has it.
void prepare_write(std::uint64_t guest_frame);

// For the list of sites: so many, or more. The list grows by moving, and what it had before is not given
// back. Empty: there is not that much.
std::span<KnownSite> memory_for_sites(std::size_t least);

// ---- shadow page tables: frames of a pool, by number

using TableNumber = std::uint32_t;

std::uint32_t table_count();
std::uint64_t table_machine_frame(TableNumber table);
// The VMM's copy, always up to date. It is what the hypervisor gets when the table is published; from then on
// write_entry keeps both.
std::uint64_t* table_entries(TableNumber table);
void publish_table(TableNumber table);
void retire_table(TableNumber table); // no entry and no root names it any more
void write_entry(TableNumber table, unsigned index, std::uint64_t entry); // queued for the hypervisor
// Whether the processor sets accessed bits in these very tables: it caches no entry of level 1 without one,
// and they are written without.
bool sets_accessed_bits();
void flush_entries();         // a processor may still have cached what they were
void forget_retired_tables(); // nothing reaches them any more, no cache either: they may be used anew
// The table in this machine frame; ~0: none of the pool.
TableNumber table_at(std::uint64_t machine_frame);
// A root is a pair: what the guest's kernel sees and what its user mode sees. Where the back-end does not
// separate them, there is no second one (~0), and user mode reaches what the kernel does.
bool separates_user_mode();
void pin_root(TableNumber kernel, TableNumber user);
void unpin_root(TableNumber kernel, TableNumber user);
void load_root(TableNumber kernel, TableNumber user);
void invalidate_page(std::uint64_t address);
void invalidate_all();
void queue_invalidate_all(); // behind the queued entries
// Entries by which a root holds the VMM: at level 4 for its map, in a kernel's root, and for slot 511, at
// level 3 and 2 for the last entry of the tables above it. 0 where the back-end needs none.
std::uint64_t map_entry();
unsigned map_slot();
std::uint64_t vmm_entry(unsigned level, bool user);
bool slot_is_reserved(unsigned root_index); // the hypervisor's own
// From this address of the slot on, the guest's kernel reaches the VMM's memory: an access to what it maps
// there itself would not fault. 0: nowhere.
std::uint64_t vmm_memory_in_slot(unsigned root_index);

// ---- processor state that the real processor holds for the guest

// Whether an instruction that faults can stand for a site: where a fault of the guest's kernel goes.
enum class KernelFaults : std::uint8_t {
    to_the_guest,   // itself: the VMM has no part in it
    by_guest_stack, // to the VMM, if the kernel's stack pointer names a stack
    by_own_stack,   // to the VMM
};
KernelFaults kernel_faults();

// What a rewritten site calls when nothing quicker fits; and where the address of such an entry is stored,
// below 2 GiB or in the last 2 GiB, for an indirect call.
std::uint64_t general_site_entry();
std::uint64_t entry_pointer(std::uint64_t entry);
// Where the interrupt flag lives while the guest runs, one byte: 1 is "disabled".
std::uint64_t interrupt_cell();
std::uint64_t read_fs_base();
void write_fs_base(std::uint64_t base);
// The base that is active in kernel mode, and the one that becomes active in user mode.
std::uint64_t read_gs_base(bool user);
void write_gs_base(bool user, std::uint64_t base);
void load_segment(unsigned segment, std::uint16_t selector); // es ds fs gs: 0 3 4 5
void load_user_gs(std::uint16_t selector);
// The real GDT and LDT follow the guest's. False: the entry was so already.
bool write_descriptor(bool local, unsigned index, std::uint64_t descriptor);
unsigned descriptor_count(bool local);                       // how many there can be
unsigned descriptors_written(bool local);                    // past the last that was ever set
void load_local_table(std::uint64_t base, unsigned entries); // 0 entries: none
void set_task_switched(bool set);
// What of CR4 changes the processor for the guest: time-stamp disable, FS and GS base instructions, XSAVE.
void set_extensions(std::uint64_t cr4);
void write_debug_register(unsigned number, std::uint64_t value);
std::uint64_t read_debug_register(unsigned number);
// Whether the processor looks at the breakpoints in them.
bool compares_debug_registers();
void write_xcr0(std::uint64_t value);
// By which the processor executes XSAVE and kin: the guest's, where it can be written. It has to have XSAVE.
std::uint64_t read_xcr0();

// XSAVE, XSAVEOPT or XRSTOR, with this mask in EDX:EAX. The guest does it once the VMM is left, if its RIP
// is still the instruction's. What faults or comes before it is done finds the guest at the instruction, all
// registers as they were.
struct StateInstruction {
    SiteKind kind;
    bool wide;             // has REX.W
    std::uint64_t address; // of the site's instruction, and where it goes on
    std::uint64_t next;
    std::uint64_t area; // the operand
    std::uint64_t mask;
};
void execute_state_instruction(const StateInstruction& instruction);

// ---- time and events

struct CpuidLeaf {
    std::uint32_t eax;
    std::uint32_t ebx;
    std::uint32_t ecx;
    std::uint32_t edx;
};
CpuidLeaf host_cpuid(std::uint32_t leaf, std::uint32_t subleaf);

std::uint64_t now(); // nanoseconds, monotonic
// What the time-stamp counter takes for so many of its ticks, in nanoseconds; never less.
std::uint64_t time_of_ticks(std::uint64_t ticks);
std::uint64_t epoch();                             // nanoseconds from 1970-01-01 to now() == 0
std::uint64_t time_stamp_khz();                    // of the counter
void set_timer(std::optional<std::uint64_t> when); // an event comes once now() has reached it, never before
void idle();                                       // until an event may have come
// Something asynchronous has come since: clears the note of it.
bool take_events();
// Makes the guest come back as soon as it enables interrupts.
void request_attention();

// ---- packets: Ethernet frames without FCS

using NetworkAddress = std::array<std::uint8_t, 6>;

// The card's; nullopt: there is no network, and nothing below is called.
std::optional<NetworkAddress> network_address();
// There is somebody at the other end. An event comes when that changes.
bool network_is_up();
// What is sent may be unfinished: whoever takes it finishes it.
bool takes_unfinished_packets();
// Where the next goes, of so many bytes and more where there is more. Empty: there is no room, and an event
// comes when there is.
std::span<std::uint8_t> packet_room(std::uint32_t least);
void send_packet(std::uint32_t bytes, const ethernet::Unfinished& left); // so many of them
// The first that has come, until it is released; then its bytes may have changed, and are ours to change.
// nullopt: none has, and an event comes with the next.
struct ReceivedPacket {
    std::span<std::uint8_t> bytes;
    std::uint16_t segment_bytes; // as in Unfinished
    bool lacks_checksum;         // of TCP or UDP
    bool is_verified;            // nobody need look at its checksums
};
std::optional<ReceivedPacket> received_packet();
void release_packet();
// Behind the last of some, sent or released.
void notify_packets();

// ---- console and end

void write_console(std::string_view text);
std::optional<std::uint8_t> read_console();
[[noreturn]] void power_off();
[[noreturn]] void reboot();
[[noreturn]] void crash();

} // namespace backend

} // namespace previrt
