// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/folder/vhost_user.hpp"

#include "host/passed_descriptors.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <poll.h>
#include <sys/socket.h>
#include <type_traits>
#include <unistd.h>
#include <vector>

namespace previrt {

namespace {

// Of the protocol's messages, as docs/interop/vhost-user of QEMU has them.
struct Header {
    std::uint32_t request;
    std::uint32_t flags;
    std::uint32_t bytes;
};
static_assert(sizeof(Header) == 12);
constexpr std::uint32_t version = 1;
constexpr std::uint32_t version_bits = 3;
constexpr std::uint32_t flag_reply = 4;

struct QueueState {
    std::uint32_t number;
    std::uint32_t value;
};
struct QueueAddresses {
    std::uint32_t number;
    std::uint32_t flags;
    std::uint64_t descriptors;
    std::uint64_t used;
    std::uint64_t available;
    std::uint64_t log;
};
static_assert(sizeof(QueueAddresses) == 40);
// One region. Addresses of queues are the sender's own; here these are the guest's too.
struct Memory {
    std::uint32_t regions;
    std::uint32_t padding;
    std::uint64_t guest_address;
    std::uint64_t bytes;
    std::uint64_t own_address;
    std::uint64_t offset;
};
static_assert(sizeof(Memory) == 40);

} // namespace

bool VhostUser::send(Request request, std::span<const std::uint8_t> payload, int descriptor) {
    Header header{.request = static_cast<std::uint32_t>(request),
                  .flags = version,
                  .bytes = static_cast<std::uint32_t>(payload.size())};
    std::vector<std::uint8_t> message(sizeof header + payload.size());
    std::memcpy(message.data(), &header, sizeof header);
    std::ranges::copy(payload, message.begin() + sizeof header);
    const std::span<const int> descriptors(&descriptor, descriptor >= 0 ? 1 : 0);
    // The few bytes of a message always fit: no server leaves as many unread as a socket holds.
    return send_with_descriptors(socket_.number(), message, descriptors, MSG_DONTWAIT);
}

template <typename Payload>
bool VhostUser::send(Request request, const Payload& payload, int descriptor) {
    static_assert(std::has_unique_object_representations_v<Payload>);
    return send(request, {reinterpret_cast<const std::uint8_t*>(&payload), sizeof payload}, descriptor);
}

bool VhostUser::receive_bytes(std::span<std::uint8_t> bytes) {
    while (!bytes.empty()) {
        std::array<pollfd, 2> waiting = {{{.fd = socket_.number(), .events = POLLIN, .revents = 0},
                                          {.fd = given_up_, .events = POLLIN, .revents = 0}}};
        if (poll(waiting.data(), waiting.size(), -1) < 0 && errno != EINTR) {
            return false;
        }
        if (waiting[0].revents != 0) {
            const ssize_t got = read(socket_.number(), bytes.data(), bytes.size());
            if (got <= 0) {
                return false;
            }
            bytes = bytes.subspan(static_cast<std::size_t>(got));
        } else if (waiting[1].revents != 0) {
            return false;
        }
    }
    return true;
}

bool VhostUser::receive(Request request, std::span<std::uint8_t> payload) {
    Header header{};
    return receive_bytes({reinterpret_cast<std::uint8_t*>(&header), sizeof header}) &&
           header.request == static_cast<std::uint32_t>(request) &&
           (header.flags & version_bits) == version && (header.flags & flag_reply) != 0 &&
           header.bytes == payload.size() && receive_bytes(payload);
}

bool VhostUser::negotiate(std::uint64_t features) {
    std::uint64_t offered = 0;
    return send(Request::set_owner, {}) && send(Request::get_features, {}) &&
           receive(Request::get_features, {reinterpret_cast<std::uint8_t*>(&offered), sizeof offered}) &&
           (features & ~offered) == 0 && send(Request::set_features, features);
}

bool VhostUser::share(const SharedRam& ram) {
    return send(Request::set_memory,
                Memory{.regions = 1,
                       .padding = 0,
                       .guest_address = 0,
                       .bytes = ram.bytes,
                       .own_address = 0,
                       .offset = ram.offset},
                ram.file);
}

// The server begins when it has the doorbell of requests.
bool VhostUser::begin_queue(unsigned number, const backend::FolderQueue& queue, int kicked, int called) {
    return send(Request::set_queue_size, QueueState{.number = number, .value = queue.size}) &&
           send(Request::set_queue_base, QueueState{.number = number, .value = 0}) &&
           send(Request::set_queue_addresses, QueueAddresses{.number = number,
                                                             .flags = 0,
                                                             .descriptors = queue.descriptors,
                                                             .used = queue.used,
                                                             .available = queue.available,
                                                             .log = 0}) &&
           send(Request::set_queue_call, std::uint64_t{number}, called) &&
           send(Request::set_queue_kick, std::uint64_t{number}, kicked);
}

bool VhostUser::end_queue(unsigned number) {
    QueueState base{};
    return send(Request::get_queue_base, QueueState{.number = number, .value = 0}) &&
           receive(Request::get_queue_base, {reinterpret_cast<std::uint8_t*>(&base), sizeof base});
}

} // namespace previrt
