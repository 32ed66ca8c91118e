// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/virtio/split_queue.hpp"

#include <cstdint>
#include <type_traits>

namespace previrt::virtio_fs {

// The reply to a driver's first request, FUSE_INIT, by which driver and server agree on how they work.
//
// Linux's driver and virtiofsd agree that the driver may read a directory without the attributes of its files
// (FUSE_READDIRPLUS_AUTO). Linux then reads the attributes of a directory's first page alone: `find -size`,
// `ls -l` and `git status` send one request for each further file, and each request wakes server and guest.
// The device takes this out of the reply: a page always has the attributes of its files.
struct InitReply {
    bool is_awaited = false;
    std::uint64_t flags = 0; // their address in the guest's memory; 0: not known

    void await() { *this = {.is_awaited = true}; }
    // The driver's first chain, before the server has it.
    void find(virtio::BufferChain chain, const GuestMemory& memory);
    // The server has answered, and the driver has no interrupt yet.
    void change(const GuestMemory& memory);
};

static_assert(std::is_trivially_copyable_v<InitReply>);

} // namespace previrt::virtio_fs
