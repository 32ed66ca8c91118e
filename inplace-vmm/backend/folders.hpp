// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "inplace-vmm/backend/folder.hpp"

#include <cstdint>
#include <span>

namespace previrt::backend {

// Folders of the host. A server there reads and writes the guest's memory by itself. Only a back-end that is
// built with this header has them.
unsigned folder_count(); // fixed from the start
Folder folder(unsigned number);

// The server shall serve these queues: most_folder_queues at most.
void begin_folder(unsigned folder, std::span<const FolderQueue> queues);
// It shall touch them no more.
void end_folder(unsigned folder);
// It has done the last of these. An event comes when it has.
bool is_folder_settled(unsigned folder);
// A queue has new requests.
void notify_folder(unsigned folder, unsigned queue);
// It has answered some since the last call. An event comes when it does.
bool take_folder_used(unsigned folder);

} // namespace previrt::backend
