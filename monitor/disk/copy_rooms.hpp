// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"
#include "monitor/guest/mapping.hpp"

#include <cstdint>
#include <span>
#include <sys/uio.h>
#include <vector>

namespace previrt {

// Memory between a guest and a program that gets none of the guest's. Linux copies, by calls on a file: if
// the guest's memory cannot be had, that is an error of the call and no signal.
class CopyRooms {
public:
    // Throws InputError.
    CopyRooms(unsigned count, std::size_t bytes_of_room);

    [[nodiscard]] int number() const { return file_.number(); }
    [[nodiscard]] bool has_free() const { return !free_.empty(); }
    unsigned take();
    void give_back(unsigned room) { free_.push_back(room); }
    [[nodiscard]] std::span<std::uint8_t> bytes(unsigned room) const;

    // The number of bytes, or an error number below 0.
    [[nodiscard]] std::int64_t copy_in(unsigned room, std::span<const iovec> pieces) const;
    [[nodiscard]] std::int64_t copy_out(unsigned room, std::span<const iovec> pieces) const;

private:
    std::size_t bytes_of_room_;
    Descriptor file_;
    Mapping memory_;
    std::vector<unsigned> free_; // the last that was in use is the first to be taken: its memory is there
};

} // namespace previrt
