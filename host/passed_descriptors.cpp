// SPDX-License-Identifier: BSD-2-Clause
#include "host/passed_descriptors.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <sys/socket.h>
#include <sys/uio.h>
#include <utility>

namespace previrt {

namespace {

constexpr std::size_t most_descriptors = 16;

// What one message holds beside its bytes.
struct alignas(cmsghdr) Ancillary {
    std::array<char, CMSG_SPACE(most_descriptors * sizeof(int))> bytes{};
};

} // namespace

bool send_with_descriptors(int socket, std::span<const std::uint8_t> bytes, std::span<const int> descriptors,
                           int flags) {
    if (descriptors.size() > most_descriptors) {
        return false;
    }
    iovec place{.iov_base = const_cast<std::uint8_t*>(bytes.data()), .iov_len = bytes.size()};
    Ancillary ancillary;
    msghdr message{};
    message.msg_iov = &place;
    message.msg_iovlen = 1;
    if (!descriptors.empty()) {
        message.msg_control = ancillary.bytes.data();
        message.msg_controllen = CMSG_SPACE(descriptors.size_bytes());
        cmsghdr* const header = CMSG_FIRSTHDR(&message);
        header->cmsg_level = SOL_SOCKET;
        header->cmsg_type = SCM_RIGHTS;
        header->cmsg_len = CMSG_LEN(descriptors.size_bytes());
        std::memcpy(CMSG_DATA(header), descriptors.data(), descriptors.size_bytes());
    }
    ssize_t sent = 0;
    do {
        sent = sendmsg(socket, &message, flags | MSG_NOSIGNAL);
    } while (sent < 0 && errno == EINTR);
    return sent == static_cast<ssize_t>(bytes.size());
}

ReceivedDescriptors receive_with_descriptors(int socket, std::span<std::uint8_t> bytes,
                                             std::span<Descriptor> room, int flags) {
    iovec place{.iov_base = bytes.data(), .iov_len = bytes.size()};
    Ancillary ancillary;
    msghdr message{};
    message.msg_iov = &place;
    message.msg_iovlen = 1;
    message.msg_control = ancillary.bytes.data();
    message.msg_controllen = ancillary.bytes.size();
    ssize_t got = 0;
    do {
        got = recvmsg(socket, &message, flags | MSG_CMSG_CLOEXEC);
    } while (got < 0 && errno == EINTR);
    ReceivedDescriptors received;
    if (got <= 0) {
        return received;
    }
    received.bytes = static_cast<std::size_t>(got);
    received.is_complete = (message.msg_flags & MSG_CTRUNC) == 0;
    const cmsghdr* const header = CMSG_FIRSTHDR(&message);
    if (header == nullptr || header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) {
        return received;
    }
    std::array<int, most_descriptors> numbers{};
    const std::size_t count = std::min((header->cmsg_len - CMSG_LEN(0)) / sizeof(int), numbers.size());
    std::memcpy(numbers.data(), CMSG_DATA(header), count * sizeof(int));
    for (const int number : std::span(numbers).first(count)) {
        Descriptor descriptor(number);
        if (received.count == room.size()) {
            received.is_complete = false;
        } else {
            room[received.count++] = std::move(descriptor);
        }
    }
    return received;
}

} // namespace previrt
