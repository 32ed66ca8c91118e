// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/platform/pc.hpp"
#include "ethernet/segment_cutter.hpp"
#include "frontends/x86/paging/kernel_placement.hpp"
#include "inplace-vmm/panic_watch.hpp"

#include <cstdint>
#include <optional>
#include <type_traits>

namespace previrt {

// Frames between the card and the back-end.
struct SentPackets {
    // A frame that the card has given away, and that the back-end has not taken yet.
    struct WaitingFrame {
        std::uint8_t bytes[Dp83820::transmit_room];
        std::uint32_t size; // 0: there is none
        ethernet::Unfinished left;
    };
    WaitingFrame waiting;
    std::optional<std::uint64_t> due; // frames are sent at this time at the latest
    unsigned repeated;                // requests to send since then
    bool has_grown;                   // the packet being joined, since the card's descriptors were last read
    bool lacks_room;                  // in the back-end's ring
};

struct ReceivedPackets {
    ethernet::SegmentCutter cutter; // of the oldest packet in the back-end's ring
    // The pause that the guest's programs get after the receive ring was full.
    std::optional<std::uint64_t> closed_at;
    std::uint64_t opens_at;
    bool is_paused; // and a packet waits
};

// One of the two roots of a guest's state; the other is its Vcpu. With the guest's RAM and the registers that
// the real processor holds, they are all of the guest. All other statics of the front-end are in a section
// .bss.cache or .data.cache: caches, counts, and the VMM's record of the sites that it rewrote. Another VMM
// makes them anew, the record from the kernel and its modules. Before a copy, flush_packets() sends the
// packet that is being joined in the back-end's ring.
struct MachineState {
    static constexpr std::uint32_t current_version = 1;

    std::uint32_t version = current_version;
    bool floating_ends_guest; // --strict
    std::uint64_t timer_count_written_at;
    KernelPlacement kernel;
    PanicWatch panic_watch;
    SentPackets sent;
    ReceivedPackets received;
    Pc pc;
};
static_assert(std::is_trivially_copyable_v<MachineState>); // and it has no pointers

extern MachineState machine_state;

} // namespace previrt
