// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/common/contract/folder_start.hpp"

namespace previrt::monitored {

const FoldersStart& folders();
void ring_for_folders();                               // the monitor shall begin or end a folder
void ring_for_folder(unsigned folder, unsigned queue); // of the folder's server: the queue has requests

} // namespace previrt::monitored
