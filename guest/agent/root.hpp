// SPDX-License-Identifier: BSD-2-Clause
#pragma once

namespace previrt::agent {

// Reads the list of folders, and removes it together with the agent's own file. If one of them is the root,
// the guest's root is that from now on. Returns null, or a message if this kernel cannot mount it.
const char* enter_root();
// The root's own first process shall run.
bool is_without_command();
// Mounts the other folders. Returns as enter_root().
const char* mount_folders();
// Mounts the file systems that a program expects: /dev, /proc, /sys, /tmp. Brings up the loopback device.
void prepare_root();
// Becomes the root's own first process, as Linux would start it. Returns only if there is none.
void become_init(char** arguments, char** environment);

} // namespace previrt::agent
