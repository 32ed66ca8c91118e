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
namespace previrt::process {

using monitored::ConsoleRing;
using monitored::Part;

// The image begins with this.
struct ImageHeader {
    char magic[8];
    std::uint64_t image_end;
    std::uint64_t
        event_word; // 32 bits: the monitor sets it and wakes waiters (futex), before it sends its signal
    std::uint64_t instruction_counts; // InstructionCounts, which the monitor reads; 0: none
};
constexpr char image_magic[8] = {'p', 'v', 't', '-', 'p', 'r', 'o', 'c'};

// One page, at handover_address, that the monitor writes before the start.
struct Handover {
    std::uint64_t guest_memory; // bytes of RAM
    std::uint64_t vmm_bytes;    // at the file's start: the image, then the parts; the guest's RAM follows
    Part package;
    Part free; // whole pages, zero
    Part output;
    Part input;
    Part filter; // instructions of a seccomp filter
    Part users;  // with --isolate: the stub's page, and the memory shared with each user process
    std::uint64_t rewrites_user_calls;
    std::uint64_t isolates_user_mode;
    monitored::ClockStart clock;
    monitored::NetworkStart network;
    monitored::DisksStart disks;
    monitored::VsockStart vsock;
    monitored::ConsolePortsStart console_ports;
    monitored::FoldersStart folders;
    std::uint64_t most_ranges; // of mapped memory in one host process; the host's own limit is larger
    std::uint32_t most_hosts;  // host processes: the VMM refuses more
    std::uint32_t processors;
};

// The monitor adds this to the event word.
constexpr std::uint32_t event_pending = 1;

} // namespace previrt::process
