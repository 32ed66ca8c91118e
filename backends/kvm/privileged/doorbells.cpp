// SPDX-License-Identifier: BSD-2-Clause
#include "backends/common/monitor_link/doorbells.hpp"

#include "backends/kvm/privileged/domain.hpp"
#include "inplace-vmm/backend/time.hpp"

namespace previrt::monitored {

using namespace kvm_privileged;

// At addresses where the guest's page tables map them too.
ConsoleRing& output_ring() {
    return *reinterpret_cast<ConsoleRing*>(output_address);
}

ConsoleRing& input_ring() {
    return *reinterpret_cast<ConsoleRing*>(input_address);
}

// If the next exit comes soon, the output needs no exit of its own.
void ring_for_reader() {
    constexpr std::uint64_t soon = 5'000'000;
    const std::uint64_t latest = backend::now() + soon;
    mailbox.output_deadline = latest < mailbox.output_deadline ? latest : mailbox.output_deadline;
}

void ring_for_room() {
    asm volatile("outl %0, %1" : : "a"(0), "d"(port_output) : "memory");
}

void ring_for_end() {
    request_of_monitor(PortRequest::ended);
}

const NetworkStart& network() {
    return handover.network;
}

std::uint8_t* place_of(const Part& part) {
    return part_of_vmm(part);
}

void ring_for_packets() {
    asm volatile("outl %0, %1" : : "a"(0), "d"(port_packets) : "memory");
}

const DisksStart& disks() {
    return handover.disks;
}

void ring_for_disk(unsigned disk) {
    asm volatile("outl %0, %1" : : "a"(0), "d"(port_of_disk(disk)) : "memory");
}

} // namespace previrt::monitored
