// SPDX-License-Identifier: BSD-2-Clause
#include "backends/common/monitor_link/doorbells.hpp"
#include "backends/common/monitor_link/console_ports.hpp"
#include "backends/common/monitor_link/folders.hpp"
#include "backends/common/monitor_link/vsock.hpp"

#include "backends/kvm/deprivileged/domain.hpp"

namespace previrt::monitored {

using namespace kvm;

namespace {

void ring(std::uint64_t which) {
    __atomic_signal_fence(__ATOMIC_SEQ_CST); // after this the monitor reads what was written before
    *reinterpret_cast<volatile std::uint32_t*>(doorbell_address + which) = 1;
}

} // namespace

ConsoleRing& output_ring() {
    return *reinterpret_cast<ConsoleRing*>(part_of_vmm(handover.output));
}

ConsoleRing& input_ring() {
    return *reinterpret_cast<ConsoleRing*>(part_of_vmm(handover.input));
}

void ring_for_reader() {
    ring(doorbell_output);
}

void ring_for_room() {
    ring(doorbell_output);
}

void ring_for_end() {
    ring(doorbell_end);
}

const NetworkStart& network() {
    return handover.network;
}

std::uint8_t* place_of(const Part& part) {
    return part_of_vmm(part);
}

void ring_for_packets() {
    ring(doorbell_packets);
}

const DisksStart& disks() {
    return handover.disks;
}

void ring_for_disk(unsigned disk) {
    ring(doorbell_of_disk(disk));
}

const VsockStart& vsock() {
    return handover.vsock;
}

void ring_for_vsock() {
    ring(doorbell_vsock);
}

const ConsolePortsStart& console_ports() {
    return handover.console_ports;
}

void ring_for_console_ports() {
    ring(doorbell_console_ports);
}

const FoldersStart& folders() {
    return handover.folders;
}

void ring_for_folders() {
    ring(doorbell_folders);
}

void ring_for_folder(unsigned folder, unsigned queue) {
    ring(doorbell_of_folder(folder, queue));
}

} // namespace previrt::monitored
