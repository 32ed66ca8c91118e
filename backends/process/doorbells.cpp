// SPDX-License-Identifier: BSD-2-Clause
#include "backends/common/monitor_link/doorbells.hpp"
#include "backends/common/monitor_link/console_ports.hpp"
#include "backends/common/monitor_link/folders.hpp"
#include "backends/common/monitor_link/vsock.hpp"

#include "backends/process/domain.hpp"
#include "backends/process/system_call.hpp"

namespace previrt::monitored {

using namespace process;

namespace {

void ring(int event) {
    const std::uint64_t one = 1;
    call_host(call_write,
              {.first = static_cast<std::uint64_t>(event), .second = address_of(&one), .third = sizeof(one)});
}

} // namespace

ConsoleRing& output_ring() {
    return *reinterpret_cast<ConsoleRing*>(part_of_vmm(handover.output));
}

ConsoleRing& input_ring() {
    return *reinterpret_cast<ConsoleRing*>(part_of_vmm(handover.input));
}

void ring_for_reader() {
    ring(output_event);
}

void ring_for_room() {
    ring(output_event);
}

// The monitor sees the end of the process; the console has said how.
void ring_for_end() {
    end_process();
}

const NetworkStart& network() {
    return handover.network;
}

std::uint8_t* place_of(const Part& part) {
    return part_of_vmm(part);
}

void ring_for_packets() {
    ring(packet_event);
}

const DisksStart& disks() {
    return handover.disks;
}

void ring_for_disk(unsigned disk) {
    ring(first_disk_event + static_cast<int>(disk));
}

const VsockStart& vsock() {
    return handover.vsock;
}

void ring_for_vsock() {
    ring(vsock_event);
}

const ConsolePortsStart& console_ports() {
    return handover.console_ports;
}

void ring_for_console_ports() {
    ring(console_ports_event);
}

const FoldersStart& folders() {
    return handover.folders;
}

void ring_for_folders() {
    ring(folders_event);
}

void ring_for_folder(unsigned folder, unsigned queue) {
    ring(folder_event(folder, queue));
}

} // namespace previrt::monitored
