// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "tests/unit/process/memory/host_process.hpp"

#include <cstdint>

// The host of a guest that is a process, as far as memory goes. What it maps for the guest is a model; the
// VMM's own view of RAM and of its memory is real, at the addresses that it has in each process.
namespace previrt::fake {

struct ProcessPlace {
    std::uint64_t most_ranges = 49147;
    std::uint32_t most_hosts = 16;
    bool isolates = false;
    bool rewrites_user_calls = false;
    unsigned processors = 1;
};
// Before start().
void choose_process_place(const ProcessPlace& place);

// From now on this processor executes the VMM. It begins in a copy of the present process. With --isolate,
// the others execute programs meanwhile.
void change_processor(unsigned processor);

HostProcess& current_process();
// With --isolate: the one beside it. The changes that are due have been made.
HostProcess& user_process();
// The same while its program continues, without the VMM.
const HostProcess& running_user_process();

// The file's offset of a page of RAM.
std::uint64_t offset_of_frame(std::uint64_t guest_frame);
// A page of the VMM's memory, which is no RAM.
const std::uint8_t* vmm_page(std::uint64_t offset);

} // namespace previrt::fake
