// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/common/contract/console_ring.hpp"
#include "inplace-vmm/backend/folder.hpp"

#include <cstdint>

namespace previrt::monitored {

// Memory that the VMM and the monitor share for one folder. Each writes its own part at any time.
struct FolderLink {
    // The VMM's.
    backend::FolderQueue queues[backend::most_folder_queues]; // unchanged while the monitor is not settled
    std::uint32_t wanted;                                     // grows; odd: serve the queues; even: do not
    std::uint32_t reserved[15];
    // The monitor's.
    std::uint32_t settled; // the last of `wanted` that it has done
    std::uint32_t used;    // 1: the server has answered; the VMM clears it
    std::uint32_t reserved2[14];
};
static_assert(sizeof(FolderLink) == 192);

// A folder, as the monitor describes it to the VMM.
struct FolderStart {
    Part link; // a FolderLink
    backend::Folder folder;
};

struct FoldersStart {
    FolderStart folders[backend::most_folders];
    std::uint32_t count;
};

} // namespace previrt::monitored
