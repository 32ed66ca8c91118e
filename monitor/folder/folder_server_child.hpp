// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <sys/types.h>

// The work of a folder server's process between fork and exec. Only calls that are safe after fork.
namespace previrt {

enum class FolderServerStep : std::uint8_t {
    none,
    descriptors,
    user_namespace,
    mount_namespace,
    folder,
    read_only,
    program,
};

struct FolderServerReport {
    FolderServerStep failed;
    int error;
};

struct FolderServerChild {
    const char* program;
    const char* preloaded; // a library: virtiofsd_open.cpp
    const char* folder;    // becomes the folder that the program serves
    bool is_read_only;
    int socket;   // it listens
    int messages; // the program's standard error
    int report;   // a FolderServerReport goes there if a step fails; it ends with exec
};

[[noreturn]] void become_folder_server(const FolderServerChild& child);

} // namespace previrt
