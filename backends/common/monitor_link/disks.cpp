// SPDX-License-Identifier: BSD-2-Clause
// Two rings for each disk, with the monitor at their other ends.
#include "inplace-vmm/backend/disks.hpp"
#include "backends/common/contract/disk_ring.hpp"
#include "backends/common/contract/doorbells.hpp"
#include "backends/common/monitor_link/doorbells.hpp"
#include "inplace-vmm/counters.hpp"
#include "inplace-vmm/instruction_counts.hpp"

namespace previrt::backend {

using namespace monitored;

namespace {

DiskRequests& requests_of(unsigned disk) {
    static std::optional<DiskRequests> of_disks[most_disks];
    std::optional<DiskRequests>& requests = of_disks[disk];
    if (!requests) {
        const DiskStart& start = disks().disks[disk];
        requests.emplace(*reinterpret_cast<DiskRequestRing*>(place_of(start.requests)),
                         *reinterpret_cast<DiskCompletionRing*>(place_of(start.completions)));
    }
    return *requests;
}

} // namespace

unsigned disk_count() {
    return disks().count;
}

Disk disk(unsigned number) {
    return disks().disks[number].disk;
}

bool submit(unsigned disk, const DiskRequest& request) {
    return requests_of(disk).submit(request);
}

std::optional<DiskCompletion> next_completion(unsigned disk) {
    return requests_of(disk).next_completion();
}

bool disks_wait() {
    bool some_waits = false;
    for (unsigned disk = 0; disk < disk_count(); ++disk) {
        some_waits |= requests_of(disk).monitor_waits();
    }
    return some_waits;
}

void notify_disks() {
    for (unsigned disk = 0; disk < disk_count(); ++disk) {
        if (requests_of(disk).must_call()) {
            ++counters.disk_calls;
            count_crossing(doorbell_of_disks);
            ring_for_disk(disk);
        }
    }
}

} // namespace previrt::backend
