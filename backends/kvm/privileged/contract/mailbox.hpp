// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/kvm/deprivileged/contract/handover.hpp"
#include "frontends/x86/linux_boot/guest_image.hpp"

#include <cstdint>

// The data that the monitor and a VMM in privileged mode exchange while the guest runs. With one processor
// they never run at the same time: KVM_RUN returns first. With several, a question and its operands are the
// monitor's until it asks.
namespace previrt::kvm_privileged {

// The image begins with this. Addresses are virtual.
struct ImageHeader {
    char magic[8];
    std::uint64_t entry; // of the monitor's questions: at level 0, in page tables of the VMM's own
    std::uint64_t stack_top;
    std::uint64_t device_bytes; // of the state of the PC's devices
};
constexpr char image_magic[8] = {'p', 'v', 't', '-', 'k', 'v', 'p', '\0'};

enum class Question : std::uint32_t {
    load,     // the guest. Answer: `boot`
    activate, // page tables at `cr3` can hold the VMM; `devices` is a struct Pc. From now on sites call
    read_port,
    write_port, // `address`, `width`, `value`: by an instruction that is no site
    read_memory,
    write_memory, // the same, guest-physical, outside RAM
    packets,      // packets or completions of disks came, or there is room for more, or the link changed
    announce,     // `announcement`. Answer for a module and a copy: `value`
    halt,         // with interrupts disabled, for ever
    reset,
};

// The reason of an interrupt.
enum class Cause : std::uint32_t {
    none,
    request,  // the 8259s request it
    deadline, // the 8259s will request it at the deadline
    input,    // the 8259s will request it when a character comes
};

constexpr std::uint32_t no_vector = 256;
constexpr std::uint64_t never = ~std::uint64_t{0};

// The guest's registers at such an instruction, and the tag of its record.
struct Announcement {
    std::uint64_t tag;
    std::uint64_t rdi;
    std::uint64_t rsi;
    std::uint64_t rdx;
    std::uint64_t rcx;
};

struct Mailbox {
    Question question;
    std::uint32_t width;
    std::uint64_t address;
    std::uint64_t value;
    Announcement announcement;
    // The guest's control registers, for its virtual addresses.
    std::uint64_t cr0;
    std::uint64_t cr3;
    std::uint64_t cr4;
    std::uint64_t efer;
    std::uint32_t privilege_level;
    BootState boot;

    // Written by the VMM after its last look at the devices. A vector is the one that INTA would give.
    std::uint64_t looked_at;       // nanoseconds of the guest's clock
    std::uint64_t deadline;        // likewise
    std::uint64_t output_deadline; // likewise: the time at which the reader of the output wants the doorbell.
                                   // The monitor clears it
    std::uint32_t request_vector;
    std::uint32_t deadline_vector;
    std::uint32_t input_vector;
    // With several processors, a bit for each interrupt line: the asserted ones, and those that have risen
    // since the monitor was told, even if they are as before.
    std::uint32_t lines;
    std::uint32_t rises;
    std::uint64_t released_first; // pages of the guest's RAM, for PortRequest::release
    std::uint64_t released_count;

    // Written by the monitor.
    std::uint64_t devices; // guest-physical
    Cause
        delivered; // the interrupt that the monitor delivered, as by INTA; no other until the VMM has looked
    std::uint64_t timer;            // the monitor enters at this time
    std::uint32_t waits_for_window; // the monitor enters when the guest enables interrupts
};
static_assert(sizeof(Mailbox) <= 4096);

} // namespace previrt::kvm_privileged
