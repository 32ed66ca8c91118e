// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "backends/xen/device_node.hpp"
#include "inplace-vmm/backend/disk.hpp"

#include <cstdint>

namespace previrt::xen {

// The data that the back-end gets: the grant of the ring, and a port.
struct VbdEnds {
    std::uint32_t ring;
    std::uint32_t port;
};

// One of this domain's block devices in xenstore: the front-end's part of the protocol in xen/io/xenbus.h and
// blkif.h. A back-end that has gone does not come back, because the ring is not made anew.
class Vbd {
public:
    static constexpr std::string_view directory = "device/vbd";

    // False: the device is invalid.
    bool find(Xenstore& store, std::uint32_t number);
    [[nodiscard]] std::uint16_t backend() const { return node_.backend(); }

    // The ring is ready. The back-end gets it once it waits for it.
    void offer(const VbdEnds& ends);
    // Asks xenstore only after xenstore has reported a change.
    bool is_connected();
    // It will not be connected any more.
    [[nodiscard]] bool is_closed() const { return is_closed_; }

    // Of a connected back-end.
    [[nodiscard]] const backend::Disk& disk() const { return disk_; }
    // BLKIF_OP_FLUSH_DISKCACHE, or BLKIF_OP_WRITE_BARRIER, which does the same where it has no data. 0: the
    // back-end has neither, and keeps no write back.
    [[nodiscard]] std::uint8_t flush_operation() const { return flush_operation_; }

private:
    bool tell(const VbdEnds& ends);
    bool read_disk();
    void close();
    void follow(unsigned state);

    DeviceNode node_;
    VbdEnds ends_{};
    backend::Disk disk_{};
    std::uint8_t flush_operation_ = 0;
    bool is_offered_ = false;
    bool is_connected_ = false;
    bool is_closed_ = false;
};

} // namespace previrt::xen
