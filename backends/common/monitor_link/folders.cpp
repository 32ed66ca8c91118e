// SPDX-License-Identifier: BSD-2-Clause
// The VMM and the monitor share memory for each folder. A request rings the folder's server, not the monitor.
#include "backends/common/monitor_link/folders.hpp"

#include "backends/common/contract/doorbells.hpp"
#include "backends/common/monitor_link/doorbells.hpp"
#include "inplace-vmm/backend/folders.hpp"
#include "inplace-vmm/counters.hpp"
#include "inplace-vmm/instruction_counts.hpp"

namespace previrt::backend {

using namespace monitored;

namespace {

FolderLink& link_of(unsigned folder) {
    return *reinterpret_cast<FolderLink*>(place_of(folders().folders[folder].link));
}

// The VMM's own count, which it never reads back.
std::uint32_t wanted[most_folders];

void want(unsigned folder) {
    ++wanted[folder];
    __atomic_store_n(&link_of(folder).wanted, wanted[folder], __ATOMIC_RELEASE);
    ring_for_folders();
}

} // namespace

unsigned folder_count() {
    return folders().count;
}

Folder folder(unsigned number) {
    return folders().folders[number].folder;
}

void begin_folder(unsigned folder, std::span<const FolderQueue> queues) {
    for (unsigned i = 0; i < queues.size() && i < most_folder_queues; ++i) {
        link_of(folder).queues[i] = queues[i];
    }
    want(folder);
}

void end_folder(unsigned folder) {
    want(folder);
}

bool is_folder_settled(unsigned folder) {
    return __atomic_load_n(&link_of(folder).settled, __ATOMIC_ACQUIRE) == wanted[folder];
}

void notify_folder(unsigned folder, unsigned queue) {
    ++counters.folder_calls;
    count_crossing(doorbell_of_folders);
    ring_for_folder(folder, queue);
}

bool take_folder_used(unsigned folder) {
    return __atomic_exchange_n(&link_of(folder).used, 0, __ATOMIC_ACQUIRE) != 0;
}

} // namespace previrt::backend
