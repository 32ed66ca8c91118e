// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"
#include "inplace-vmm/backend/folder.hpp"

#include <cstdint>
#include <optional>
#include <span>

namespace previrt {

// The guest's RAM, in a file that others can map.
struct SharedRam {
    int file;
    std::uint64_t offset;
    std::uint64_t bytes;
};

// The front-end's side of the vhost-user protocol: it gives a server memory and queues. Each call returns
// false if the server has gone, has answered nonsense, or if `given_up` becomes readable.
class VhostUser {
public:
    VhostUser(Descriptor socket, int given_up) : socket_(std::move(socket)), given_up_(given_up) {}

    [[nodiscard]] int socket() const { return socket_.number(); }

    // Takes the features of virtio that this protocol's users need; then the memory.
    [[nodiscard]] bool negotiate(std::uint64_t features);
    [[nodiscard]] bool share(const SharedRam& ram);
    // `kicked`: an eventfd by which the driver rings. `called`: one by which the server rings.
    [[nodiscard]] bool begin_queue(unsigned number, const backend::FolderQueue& queue, int kicked,
                                   int called);
    // Returns when the server uses the queue no more.
    [[nodiscard]] bool end_queue(unsigned number);
    // The server ends.
    void close() { socket_.close(); }

private:
    enum class Request : std::uint32_t {
        get_features = 1,
        set_features = 2,
        set_owner = 3,
        set_memory = 5,
        set_queue_size = 8,
        set_queue_addresses = 9,
        set_queue_base = 10,
        get_queue_base = 11,
        set_queue_kick = 12,
        set_queue_call = 13,
    };

    [[nodiscard]] bool send(Request request, std::span<const std::uint8_t> payload, int descriptor = -1);
    template <typename Payload>
    [[nodiscard]] bool send(Request request, const Payload& payload, int descriptor = -1);
    // The payload of an answer of this size.
    [[nodiscard]] bool receive(Request request, std::span<std::uint8_t> payload);
    [[nodiscard]] bool receive_bytes(std::span<std::uint8_t> bytes);

    Descriptor socket_;
    int given_up_;
};

} // namespace previrt
