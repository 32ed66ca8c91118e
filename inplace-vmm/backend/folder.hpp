// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>

namespace previrt::backend {

constexpr unsigned most_folders = 4;
constexpr unsigned most_folder_queues = 2;
constexpr unsigned most_tag_bytes = 36;

// A folder of the host, by the name that the guest knows it by.
struct Folder {
    char tag[most_tag_bytes];
    std::uint32_t tag_bytes;
};

// A split virtqueue, guest-physical. All of it is RAM.
struct FolderQueue {
    std::uint64_t descriptors;
    std::uint64_t available;
    std::uint64_t used;
    std::uint32_t size; // 0: there is no such queue
    std::uint32_t reserved;
};
static_assert(sizeof(FolderQueue) == 32);

} // namespace previrt::backend
