// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/common/contract/disk_ring.hpp"
#include "backends/common/contract/disk_start.hpp"
#include "host/program.hpp"
#include "monitor/disk/disk_file.hpp"
#include "monitor/disk/disk_server.hpp"
#include "monitor/disk/engine.hpp"
#include "monitor/guest/guest_threads.hpp"

#include <functional>
#include <memory>
#include <ostream>
#include <span>
#include <string>
#include <vector>

namespace previrt {

// A guest's disks: their files, and the events by which the guest and the disks' threads ring each other.
class GuestDisks {
public:
    // `texts`: of --disk. Create it behind every other process of the guest's monitor, which would get the
    // files. Throws InputError.
    explicit GuestDisks(const std::vector<std::string>& texts);

    [[nodiscard]] unsigned count() const { return static_cast<unsigned>(disks_.size()); }
    // The eventfd of the guest's doorbell.
    [[nodiscard]] const Descriptor& called(unsigned disk) const { return disks_[disk]->called; }
    void describe(monitored::DisksStart& start) const;

    // A thread for each. `start`: the guest's hand-over. `vmm_memory`: begins where the parts of `start`
    // count from. `ram`: the guest's. `call`: see confine_disk_thread.
    [[nodiscard]] std::vector<DiskThread>
    threads(const monitored::DisksStart& start, std::span<std::uint8_t> vmm_memory,
            std::span<std::uint8_t> ram, const std::function<void()>& call_guest, const GuestCall& call = {});
    // For --verbose, before and after the guest.
    void describe(std::ostream& output) const;
    void describe_end(std::ostream& output) const;
    // After the guest: which files failed.
    void tell_failures(std::ostream& output) const;

private:
    struct GuestDisk {
        explicit GuestDisk(const DiskChoice& choice);

        DiskFile file;
        Descriptor called;
        Descriptor ended;
        std::unique_ptr<DiskEngine> engine;
        std::unique_ptr<DiskServer> server;
    };

    std::vector<std::unique_ptr<GuestDisk>> disks_;
};

// Takes memory for the rings of all disks that a guest may have. `take(bytes)` gives a Part.
template <typename Take>
void take_disk_rings(monitored::DisksStart& start, const Take& take) {
    for (monitored::DiskStart& disk : start.disks) {
        disk.requests = take(sizeof(monitored::DiskRequestRing));
        disk.completions = take(sizeof(monitored::DiskCompletionRing));
    }
}

} // namespace previrt
