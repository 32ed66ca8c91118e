// SPDX-License-Identifier: BSD-2-Clause
#include "backends/xen/vbd.hpp"

#include "backends/xen/blkif.hpp"

extern "C" {
#include <xen/io/xenbus.h>
}

namespace previrt::xen {

bool Vbd::find(Xenstore& store, std::uint32_t number) {
    return node_.find(store, directory, number);
}

void Vbd::offer(const VbdEnds& ends) {
    ends_ = ends;
    is_closed_ = !node_.watch_backend();
}

// All requests use the same pages, so that the back-end may keep them mapped.
bool Vbd::tell(const VbdEnds& ends) {
    return node_.write("ring-ref", ends.ring) && node_.write("event-channel", ends.port) &&
           node_.write("protocol", XEN_IO_PROTO_ABI_X86_64) && node_.write("feature-persistent", 1) &&
           node_.write("state", XenbusStateInitialised);
}

// False: the disk is none that a guest can have.
bool Vbd::read_disk() {
    constexpr std::uint32_t usual_block = 512;
    constexpr std::uint32_t large_block = 4096;
    const std::uint64_t sectors = node_.number_of_backend("sectors", ~std::uint64_t{0} / sector_bytes, 0);
    const std::uint64_t block = node_.number_of_backend("sector-size", large_block, 0);
    disk_.bytes = sectors * sector_bytes;
    disk_.block_bytes = static_cast<std::uint32_t>(block);
    if ((block != usual_block && block != large_block) || disk_.bytes == 0 || disk_.bytes % block != 0) {
        return false;
    }
    char room[16];
    const std::uint64_t info = node_.number_of_backend("info", ~std::uint32_t{0}, 0);
    disk_.is_read_only =
        (info & VDISK_READONLY) != 0 || node_.read_of_backend("mode", room).value_or("r") != "w";
    if (node_.number_of_backend("feature-flush-cache", 1, 0) != 0) {
        flush_operation_ = BLKIF_OP_FLUSH_DISKCACHE;
    } else if (node_.number_of_backend("feature-barrier", 1, 0) != 0) {
        flush_operation_ = BLKIF_OP_WRITE_BARRIER;
    }
    disk_.keeps_writes = !disk_.is_read_only && flush_operation_ != 0;
    disk_.discards = !disk_.is_read_only && node_.number_of_backend("feature-discard", 1, 0) != 0;
    return true;
}

void Vbd::close() {
    is_connected_ = false;
    is_closed_ = true;
    node_.write("state", XenbusStateClosed);
}

void Vbd::follow(unsigned state) {
    switch (state) {
    case XenbusStateInitWait:
        if (!is_offered_) {
            is_offered_ = true;
            is_closed_ = !tell(ends_);
        }
        break;
    case XenbusStateConnected:
        if (is_offered_ && !is_connected_) {
            is_connected_ = read_disk() && node_.write("state", XenbusStateConnected);
            if (!is_connected_) {
                close();
            }
        }
        break;
    case XenbusStateClosing:
    case XenbusStateClosed:
        close();
        break;
    default:
        break;
    }
}

bool Vbd::is_connected() {
    node_.follow_changes(is_closed_, [this](unsigned state) { follow(state); });
    return is_connected_;
}

} // namespace previrt::xen
