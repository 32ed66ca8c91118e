// SPDX-License-Identifier: BSD-2-Clause
#include "devices/virtio_vsock/virtio_vsock.hpp"

#include "devices/virtio/chain_bytes.hpp"
#include "devices/virtio/configuration_space.hpp"

#include <cstring>

namespace previrt {

using namespace virtio;

namespace {

constexpr std::uint64_t feature_stream = 1;

constexpr unsigned receive_queue = 0;
constexpr unsigned transmit_queue = 1;
constexpr unsigned event_queue = 2; // no event ever comes: a guest keeps its CID
constexpr std::uint16_t all_queues = (1U << receive_queue) | (1U << transmit_queue) | (1U << event_queue);

constexpr std::uint32_t guest_cid_at = Transport::configuration_offset;

} // namespace

// One call of serve(). Each queue's chains are those that are there when it begins.
class VirtioVsock::Service {
public:
    Service(VirtioVsock& device, const GuestMemory& memory, const PacketHost& host)
        : device_(device), memory_(memory), host_(host) {}

    void transmit() {
        SplitQueue* const notified = transport().take_notified(transmit_queue);
        SplitQueue* const queue =
            device_.sending_waits ? transport().running_queue(transmit_queue) : notified;
        device_.sending_waits = false;
        if (queue != nullptr) {
            move(*queue, &Service::transmit_packet);
        }
    }

    // The driver's notifications do not matter: the host's packets are looked for at every call.
    void receive() {
        (void)transport().take_notified(receive_queue);
        SplitQueue* const queue = transport().running_queue(receive_queue);
        if (queue != nullptr && !host_.next(host_.context).empty()) {
            move(*queue, &Service::receive_packet);
        }
    }

private:
    // nothing: a packet has to wait, and its chain stays in the queue.
    using Move = Look (Service::*)(SplitQueue& queue);

    [[nodiscard]] Transport& transport() { return device_.transport; }

    void move(SplitQueue& queue, Move move_packet) {
        std::uint16_t waiting = 0;
        Look look = queue.look(memory_, waiting);
        bool has_moved = false;
        for (; look == Look::ready && waiting != 0; --waiting) {
            look = (this->*move_packet)(queue);
            has_moved = has_moved || look == Look::ready;
        }
        if (look == Look::broken) {
            transport().fail();
        } else if (has_moved) {
            transport().tell_used(memory_, queue);
        }
    }

    Look take_chain(SplitQueue& queue, ChainBytes::Direction direction) {
        const Look look = queue.take(memory_, head_);
        return look == Look::ready ? chain_.collect(transport().chain(queue, head_), memory_, direction)
                                   : look;
    }

    Look transmit_packet(SplitQueue& queue) {
        const std::span<std::uint8_t> room = host_.room(host_.context, vsock::longest_packet);
        if (room.size() < vsock::longest_packet) {
            device_.sending_waits = true;
            return Look::nothing;
        }
        vsock::Header header{};
        if (take_chain(queue, ChainBytes::Direction::device_reads) != Look::ready ||
            chain_.bytes() < sizeof header || chain_.read(memory_, &header, sizeof header) != Look::ready ||
            header.len > vsock::most_payload || header.len > chain_.bytes() ||
            chain_.read(memory_, room.data() + sizeof header, header.len) != Look::ready) {
            return Look::broken;
        }
        std::memcpy(room.data(), &header, sizeof header);
        host_.send(host_.context, static_cast<std::uint32_t>(sizeof header + header.len));
        return queue.give_back(memory_, head_, 0);
    }

    // A payload that is longer than the driver's buffers becomes several packets.
    Look receive_packet(SplitQueue& queue) {
        const std::span<const std::uint8_t> packet = next_packet();
        if (packet.empty()) {
            return Look::nothing;
        }
        if (take_chain(queue, ChainBytes::Direction::device_writes) != Look::ready ||
            chain_.bytes() < vsock::header_bytes) {
            return Look::broken;
        }
        const std::span<const std::uint8_t> payload = packet.subspan(vsock::header_bytes + device_.given);
        const std::uint64_t room = chain_.bytes() - vsock::header_bytes;
        const auto bytes = static_cast<std::uint32_t>(payload.size() < room ? payload.size() : room);
        if (bytes == 0 && !payload.empty()) {
            return Look::broken;
        }
        vsock::Header header{};
        std::memcpy(&header, packet.data(), sizeof header);
        header.len = bytes;
        if (chain_.write(memory_, &header, sizeof header) != Look::ready ||
            chain_.write(memory_, payload.data(), bytes) != Look::ready) {
            return Look::broken;
        }
        device_.given += bytes;
        if (bytes == payload.size()) {
            release();
        }
        return queue.give_back(memory_, head_, static_cast<std::uint32_t>(sizeof header) + bytes);
    }

    // Drops packets that are too short or too long.
    std::span<const std::uint8_t> next_packet() {
        for (;;) {
            const std::span<const std::uint8_t> packet = host_.next(host_.context);
            if (packet.empty() ||
                (packet.size() >= vsock::header_bytes && packet.size() <= vsock::longest_packet &&
                 device_.given <= packet.size() - vsock::header_bytes)) {
                return packet;
            }
            release();
        }
    }

    void release() {
        device_.given = 0;
        host_.release(host_.context);
    }

    VirtioVsock& device_;
    const GuestMemory& memory_;
    const PacketHost& host_;
    std::uint16_t head_ = 0;
    ChainBytes chain_;
};

void VirtioVsock::start(std::uint64_t cid) {
    guest_cid = cid;
    transport.start(feature_stream, all_queues);
}

PciFunction* VirtioVsock::add_function(Pci& pci, unsigned device) {
    return virtio::add_function(pci, device, Kind::vsock, configuration_bytes);
}

std::optional<std::uint32_t> VirtioVsock::read(std::uint32_t offset, unsigned width) {
    if (offset < Transport::configuration_offset) {
        return transport.read(offset, width);
    }
    if (width != sizeof(std::uint32_t)) {
        return std::nullopt;
    }
    switch (offset) {
    case guest_cid_at:
        return static_cast<std::uint32_t>(guest_cid);
    case guest_cid_at + 4:
        return static_cast<std::uint32_t>(guest_cid >> 32U);
    default:
        return std::nullopt;
    }
}

bool VirtioVsock::write(std::uint32_t offset, unsigned width, std::uint32_t value) {
    if (offset >= Transport::configuration_offset) {
        return false; // the driver only reads the CID
    }
    const bool is_modelled = transport.write(offset, width, value);
    if (transport.status == 0) {
        // The next driver begins with a whole packet.
        given = 0;
        sending_waits = false;
    }
    return is_modelled;
}

void VirtioVsock::serve(const GuestMemory& memory, const PacketHost& host) {
    if (!transport.is_running()) {
        return;
    }
    Service service(*this, memory, host);
    service.transmit();
    service.receive();
    (void)transport.take_notified(event_queue);
}

} // namespace previrt
