// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/disk/copy_rooms.hpp"

#include "host/input_error.hpp"

#include <cerrno>
#include <numeric>
#include <sys/mman.h>
#include <system_error>
#include <unistd.h>

namespace previrt {

namespace {

Descriptor make_file(std::size_t bytes) {
    Descriptor file(memfd_create("previrt-disk", MFD_CLOEXEC));
    if (file.number() < 0 || ftruncate(file.number(), static_cast<off_t>(bytes)) != 0) {
        throw InputError("--disk: memfd_create: " + std::generic_category().message(errno));
    }
    return file;
}

} // namespace

CopyRooms::CopyRooms(unsigned count, std::size_t bytes_of_room)
    : bytes_of_room_(bytes_of_room), file_(make_file(count * bytes_of_room)),
      memory_(Mapping::of_descriptor(file_, count * bytes_of_room)), free_(count) {
    std::iota(free_.rbegin(), free_.rend(), 0U);
}

unsigned CopyRooms::take() {
    const unsigned room = free_.back();
    free_.pop_back();
    return room;
}

std::span<std::uint8_t> CopyRooms::bytes(unsigned room) const {
    return memory_.bytes().subspan(room * bytes_of_room_, bytes_of_room_);
}

std::int64_t CopyRooms::copy_in(unsigned room, std::span<const iovec> pieces) const {
    const ssize_t copied = pwritev(file_.number(), pieces.data(), static_cast<int>(pieces.size()),
                                   static_cast<off_t>(room * bytes_of_room_));
    return copied < 0 ? -errno : copied;
}

std::int64_t CopyRooms::copy_out(unsigned room, std::span<const iovec> pieces) const {
    const ssize_t copied = preadv(file_.number(), pieces.data(), static_cast<int>(pieces.size()),
                                  static_cast<off_t>(room * bytes_of_room_));
    return copied < 0 ? -errno : copied;
}

} // namespace previrt
