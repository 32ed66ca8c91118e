// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace previrt {

// An image has the definitions of folders.cpp or, if its back-end has no folders, those of
// without_folders.cpp.

// Puts the folders that the back-end has into the PC.
void insert_folders();
// Passes on the driver's requests, and the servers' answers.
void serve_folders();

} // namespace previrt
