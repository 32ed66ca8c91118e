// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/common/contract/console_ring.hpp"
#include "inplace-vmm/backend/disk.hpp"

#include <cstdint>

namespace previrt::monitored {

// A disk, as the monitor describes it to the VMM.
struct DiskStart {
    Part requests;    // a DiskRequestRing
    Part completions; // a DiskCompletionRing
    backend::Disk disk;
};

struct DisksStart {
    DiskStart disks[backend::most_disks];
    std::uint32_t count;
};

} // namespace previrt::monitored
