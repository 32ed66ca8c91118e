// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/disk/choice.hpp"
#include "monitor/qemu/machine.hpp"

#include <cstddef>

namespace previrt {

enum class QemuDisk : std::uint8_t {
    nvme,   // the bare machine's
    virtio, // of a machine with a hypervisor, whose Linux hands it to the guest
};

// Gives the machine a disk with the bytes of a file, which QEMU reads and writes. `number` counts from 1.
// Throws InputError.
void add_disk(MachineOptions& machine, const DiskChoice& choice, std::size_t number, QemuDisk kind);

} // namespace previrt
