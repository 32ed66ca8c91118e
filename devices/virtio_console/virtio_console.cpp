// SPDX-License-Identifier: BSD-2-Clause
#include "devices/virtio_console/virtio_console.hpp"

#include "devices/virtio/chain_bytes.hpp"
#include "devices/virtio/configuration_space.hpp"

#include <bit>
#include <cstring>

namespace previrt {

using namespace virtio;
using console_port::Event;
using console_port::Header;

namespace {

constexpr std::uint64_t feature_multiport = 2;

// Section 5.3.2 of the specification: the control queues stand behind those of port 0.
constexpr unsigned control_receive_queue = 2;
constexpr unsigned control_transmit_queue = 3;
constexpr std::uint16_t all_queues = 0xffff;
static_assert(2 * (VirtioConsole::most_ports + 1) == Transport::most_queues);

constexpr unsigned receive_queue(unsigned port) {
    return port == 0 ? 0 : (2 * port) + 2;
}
constexpr unsigned transmit_queue(unsigned port) {
    return receive_queue(port) + 1;
}

constexpr std::uint32_t cols_at = Transport::configuration_offset;
constexpr std::uint32_t rows_at = Transport::configuration_offset + 2;
constexpr std::uint32_t max_nr_ports_at = Transport::configuration_offset + 4;

// Section 5.3.6.2.
enum Message : std::uint16_t {
    device_ready = 0,
    device_add = 1,
    port_ready = 3,
    console_port_message = 4,
    port_open = 6,
    port_name = 7,
};

struct Control {
    std::uint32_t id;
    std::uint16_t event;
    std::uint16_t value;
};
static_assert(sizeof(Control) == 8);

// Bits of Port::owed, in the order in which the driver wants them.
constexpr Message owed_messages[] = {device_add, console_port_message, port_name, port_open};
constexpr std::uint8_t owes_add = 1;
constexpr std::uint8_t owes_console = 2;
constexpr std::uint8_t owes_name = 4;
constexpr std::uint8_t owes_open = 8;

// No driver has more buffers in its queues than one call of serve() takes from them.
constexpr unsigned most_chains = VirtioConsole::most_ports * SplitQueue::most_descriptors;

} // namespace

// One call of serve().
class VirtioConsole::Service {
public:
    Service(VirtioConsole& device, const GuestMemory& memory, const PacketHost& host)
        : device_(device), memory_(memory), host_(host) {}

    // Of a device that is to be reset.
    void send_rest() {
        for (unsigned port = 0; port < most_ports; ++port) {
            if (device_.ports[port].sending_waits) {
                transmit(port);
            }
        }
    }

    // A port's end comes behind its last bytes.
    void run() {
        take_control();
        for (unsigned port = 0; port < most_ports; ++port) {
            transmit(port);
            (void)transport().take_notified(receive_queue(port));
        }
        receive();
        for (unsigned port = 0; port < most_ports; ++port) {
            ask(port);
        }
        (void)transport().take_notified(control_receive_queue);
        send_control();
    }

private:
    [[nodiscard]] Transport& transport() { return device_.transport; }
    [[nodiscard]] bool has_multiport() const { return (device_.transport.accepted & feature_multiport) != 0; }

    // Without that feature the driver knows one port, which is always open.
    [[nodiscard]] bool takes_bytes(unsigned port) const {
        return device_.ports[port].exists &&
               (has_multiport() ? device_.ports[port].guest_is_open : port == 0);
    }

    Look take_chain(SplitQueue& queue, ChainBytes::Direction direction) {
        const Look look = queue.take(memory_, head_);
        return look == Look::ready ? chain_.collect(transport().chain(queue, head_), memory_, direction)
                                   : look;
    }

    // Chains that wait in a queue of a running device. Otherwise none.
    std::uint16_t waiting_in(const SplitQueue* queue) {
        std::uint16_t waiting = 0;
        if (queue != nullptr && queue->look(memory_, waiting) == Look::broken) {
            transport().fail();
            return 0;
        }
        return waiting;
    }

    using Move = Look (Service::*)(SplitQueue& queue, unsigned port);

    // The chains that are there when it begins. nothing: one has to wait, and stays in the queue.
    void move(SplitQueue* queue, unsigned port, Move move_chain) {
        Look look = Look::ready;
        bool has_moved = false;
        for (std::uint16_t waiting = waiting_in(queue); waiting != 0 && look == Look::ready; --waiting) {
            look = (this->*move_chain)(*queue, port);
            has_moved = has_moved || look == Look::ready;
        }
        if (look == Look::broken) {
            transport().fail();
        } else if (has_moved) {
            transport().tell_used(memory_, *queue);
        }
    }

    // ---- control messages

    void take_control() {
        move(transport().take_notified(control_transmit_queue), 0, &Service::take_message);
    }

    Look take_message(SplitQueue& queue, unsigned /*port*/) {
        Control control{};
        if (take_chain(queue, ChainBytes::Direction::device_reads) != Look::ready ||
            chain_.bytes() < sizeof control ||
            chain_.read(memory_, &control, sizeof control) != Look::ready) {
            return Look::broken;
        }
        if (control.event == device_ready && control.value == 1) {
            for (Port& port : device_.ports) {
                port.owed = port.exists ? owes_add : 0;
            }
        } else if (control.id < most_ports && device_.ports[control.id].exists) {
            take_message_of(control.id, control);
        }
        return queue.give_back(memory_, head_, 0);
    }

    void take_message_of(unsigned number, const Control& control) {
        Port& port = device_.ports[number];
        if (control.event == port_ready && control.value == 1) {
            port.is_ready = true;
            port.owed |= owes_open;
            port.owed |= number == 0 ? owes_console : owes_name;
        } else if (control.event == port_open) {
            port.guest_is_open = control.value == 1;
        }
    }

    void send_control() {
        if (has_multiport()) {
            move(transport().running_queue(control_receive_queue), 0, &Service::send_message);
        }
    }

    Look send_message(SplitQueue& queue, unsigned /*port*/) {
        unsigned number = 0;
        while (number < most_ports && device_.ports[number].owed == 0) {
            ++number;
        }
        if (number == most_ports) {
            return Look::nothing;
        }
        Port& port = device_.ports[number];
        const auto bit = static_cast<unsigned>(std::countr_zero(port.owed));
        const Message event = owed_messages[bit];
        const bool is_open = event != port_open || port.host_is_open;
        const Control control{
            .id = number, .event = event, .value = is_open ? std::uint16_t{1} : std::uint16_t{0}};
        // Linux takes the name to the buffer's end, without a zero behind it.
        const std::uint32_t name_bytes = event == port_name ? port.name_bytes : 0;
        if (take_chain(queue, ChainBytes::Direction::device_writes) != Look::ready ||
            chain_.bytes() < sizeof control + name_bytes ||
            chain_.write(memory_, &control, sizeof control) != Look::ready ||
            chain_.write(memory_, port.name.data(), name_bytes) != Look::ready) {
            return Look::broken;
        }
        port.owed &= static_cast<std::uint8_t>(~(1U << bit));
        return queue.give_back(memory_, head_, static_cast<std::uint32_t>(sizeof control) + name_bytes);
    }

    // ---- bytes

    void transmit(unsigned port) {
        SplitQueue* const notified = transport().take_notified(transmit_queue(port));
        bool& waits = device_.ports[port].sending_waits;
        SplitQueue* const queue = waits ? transport().running_queue(transmit_queue(port)) : notified;
        waits = false;
        move(queue, port, &Service::transmit_chain);
    }

    // In pieces. The bytes of a port that the host does not have are lost.
    Look transmit_chain(SplitQueue& queue, unsigned number) {
        Port& port = device_.ports[number];
        if (take_chain(queue, ChainBytes::Direction::device_reads) != Look::ready ||
            chain_.bytes() > most_chain_bytes || chain_.bytes() < port.sent) {
            return Look::broken;
        }
        chain_.skip(port.sent);
        while (port.exists && chain_.bytes() != 0) {
            const auto left = static_cast<std::uint32_t>(chain_.bytes());
            const std::uint32_t bytes = left < console_port::most_bytes ? left : console_port::most_bytes;
            const std::span<std::uint8_t> room = make_room(number, Event::bytes, bytes);
            if (room.empty()) {
                port.sending_waits = true;
                --queue.taken;
                return Look::nothing;
            }
            if (chain_.read(memory_, room.data(), bytes) != Look::ready) {
                return Look::broken;
            }
            host_.send(host_.context, console_port::header_bytes + bytes);
            port.sent += bytes;
        }
        port.sent = 0;
        return queue.give_back(memory_, head_, 0);
    }

    // A packet with so many bytes, which are still to be written. Empty: the host has no room.
    [[nodiscard]] std::span<std::uint8_t> make_room(unsigned port, Event event, std::uint32_t bytes) const {
        const std::uint32_t packet_bytes = console_port::header_bytes + bytes;
        const std::span<std::uint8_t> room = host_.room(host_.context, packet_bytes);
        if (room.size() < packet_bytes) {
            return {};
        }
        const Header header{.port = port, .event = event};
        std::memcpy(room.data(), &header, sizeof header);
        return room.subspan(console_port::header_bytes);
    }

    // Until a packet has to wait for the driver's buffers.
    void receive() {
        for (unsigned chains = 0; chains < most_chains && transport().is_running();) {
            const std::span<const std::uint8_t> packet = host_.next(host_.context);
            if (packet.empty()) {
                return;
            }
            Header header{.port = most_ports, .event = Event::ended};
            if (packet.size() >= sizeof header) {
                std::memcpy(&header, packet.data(), sizeof header);
            }
            if (header.port >= most_ports || header.event != Event::bytes || !takes_bytes(header.port) ||
                packet.size() - sizeof header <= device_.given) {
                take_other(header);
                continue;
            }
            SplitQueue* const queue = transport().running_queue(receive_queue(header.port));
            if (waiting_in(queue) == 0) {
                return;
            }
            payload_ = packet.subspan(sizeof header + device_.given);
            const Look look = receive_chain(*queue);
            if (look == Look::broken) {
                transport().fail();
                return;
            }
            transport().tell_used(memory_, *queue);
            ++chains;
        }
    }

    // The end of a port's bytes. Also a packet of none, and one that the guest does not want any more: Linux
    // itself forgets what nobody has read when a program closes a port.
    void take_other(const Header& header) {
        if (header.port < most_ports) {
            Port& port = device_.ports[header.port];
            port.wants = false;
            if (header.event == Event::ended) {
                port.host_is_open = false;
                port.owed |= port.is_ready ? owes_open : 0;
            }
        }
        release();
    }

    Look receive_chain(SplitQueue& queue) {
        if (take_chain(queue, ChainBytes::Direction::device_writes) != Look::ready || chain_.bytes() == 0) {
            return Look::broken;
        }
        const auto bytes =
            static_cast<std::uint32_t>(payload_.size() < chain_.bytes() ? payload_.size() : chain_.bytes());
        if (chain_.write(memory_, payload_.data(), bytes) != Look::ready) {
            return Look::broken;
        }
        device_.given += bytes;
        if (bytes == payload_.size()) {
            Header header{};
            std::memcpy(&header, host_.next(host_.context).data(), sizeof header);
            device_.ports[header.port].wants = false;
            release();
        }
        return queue.give_back(memory_, head_, bytes);
    }

    void release() {
        device_.given = 0;
        host_.release(host_.context);
    }

    // The host sends bytes only if they find a buffer: so no port waits for another one's reader.
    void ask(unsigned number) {
        Port& port = device_.ports[number];
        if (!takes_bytes(number) || !port.host_is_open || port.wants ||
            waiting_in(transport().running_queue(receive_queue(number))) == 0) {
            return;
        }
        const std::uint32_t bytes = console_port::header_bytes;
        const std::span<std::uint8_t> room = host_.room(host_.context, bytes);
        if (room.size() >= bytes) {
            const Header header{.port = number, .event = Event::wants};
            std::memcpy(room.data(), &header, sizeof header);
            host_.send(host_.context, bytes);
            port.wants = true;
        }
    }

    VirtioConsole& device_;
    const GuestMemory& memory_;
    const PacketHost& host_;
    std::uint16_t head_ = 0;
    ChainBytes chain_;
    std::span<const std::uint8_t> payload_; // that is left of the host's packet
};

void VirtioConsole::start() {
    transport.start(feature_multiport, all_queues);
}

void VirtioConsole::insert(unsigned number, std::string_view name) {
    Port& port = ports[number];
    port.name_bytes = static_cast<std::uint8_t>(name.copy(port.name.data(), port.name.size()));
    port.exists = true;
    port.host_is_open = true;
}

PciFunction* VirtioConsole::add_function(Pci& pci, unsigned device) {
    return virtio::add_function(pci, device, Kind::console, configuration_bytes);
}

// The size of the screen, which VIRTIO_CONSOLE_F_SIZE would offer, is not known.
std::optional<std::uint32_t> VirtioConsole::read(std::uint32_t offset, unsigned width) {
    if (offset < Transport::configuration_offset) {
        return transport.read(offset, width);
    }
    if (width == sizeof(std::uint16_t) && (offset == cols_at || offset == rows_at)) {
        return 0;
    }
    return width == sizeof(std::uint32_t) && offset == max_nr_ports_at ? std::optional(most_ports)
                                                                       : std::nullopt;
}

bool VirtioConsole::write(std::uint32_t offset, unsigned width, std::uint32_t value) {
    if (offset >= Transport::configuration_offset) {
        return false; // VIRTIO_CONSOLE_F_EMERG_WRITE is not offered
    }
    if (offset == Transport::status_offset && (is_ending || (value == 0 && waits_for_room()))) {
        is_ending = true;
        return width == 1;
    }
    const bool is_modelled = transport.write(offset, width, value);
    if (transport.status == 0) {
        reset();
    }
    return is_modelled;
}

void VirtioConsole::reset() {
    is_ending = false;
    given = 0;
    for (Port& port : ports) {
        port.is_ready = false;
        port.guest_is_open = false;
        port.sending_waits = false;
        port.owed = 0;
        port.sent = 0;
    }
}

void VirtioConsole::serve(const GuestMemory& memory, const PacketHost& host) {
    Service service(*this, memory, host);
    if (is_ending) {
        service.send_rest();
        if (!waits_for_room()) {
            (void)transport.write(Transport::status_offset, 1, 0);
            reset();
        }
    } else if (transport.is_running()) {
        service.run();
    }
}

bool VirtioConsole::waits_for_room() const {
    bool waits = false;
    for (const Port& port : ports) {
        waits = waits || port.sending_waits;
    }
    return waits && transport.is_running();
}

} // namespace previrt
