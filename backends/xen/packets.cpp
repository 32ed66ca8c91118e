// SPDX-License-Identifier: BSD-2-Clause
// A network device of another domain, by the two rings of xen/io/netif.h.
#include "inplace-vmm/backend/packets.hpp"
#include "backends/xen/domain.hpp"
#include "backends/xen/domain_store.hpp"
#include "backends/xen/event_ports.hpp"
#include "backends/xen/grants.hpp"
#include "backends/xen/receive_ring.hpp"
#include "backends/xen/transmit_ring.hpp"
#include "backends/xen/vif.hpp"
#include "inplace-vmm/backend/time.hpp"
#include "inplace-vmm/counters.hpp"

namespace previrt::xen {

namespace {

constinit Vif vif;
constinit TransmitRing transmit;
constinit ReceiveRing receive;
std::uint64_t packets_unsent;
std::uint32_t port;
bool is_there;

template <typename Page>
Page& take_ring(std::uint8_t*& memory, grant_ref_t& grant) {
    auto* const page = reinterpret_cast<Page*>(memory);
    grant = grant_pages(vif.backend(), memory, 1, Grant::to_write);
    memory += page_size;
    return *page;
}

// Not in the image: only a domain with a network needs it, and it is as large as the rest of the image.
VifEnds make_rings() {
    VifEnds ends{};
    std::uint8_t* memory = take_memory((page_size * (2 + TransmitRing::pages + ReceiveRing::pages)) +
                                       ReceiveRing::longest_packet);
    auto& transmit_page = take_ring<TransmitPage>(memory, ends.transmit_ring);
    auto& receive_page = take_ring<ReceivePage>(memory, ends.receive_ring);
    transmit.start(transmit_page, memory,
                   grant_pages(vif.backend(), memory, TransmitRing::pages, Grant::to_read));
    memory += std::size_t{TransmitRing::pages} * page_size;
    receive.start(receive_page, memory,
                  grant_pages(vif.backend(), memory, ReceiveRing::pages, Grant::to_write));
    receive.push();
    ends.port = port;
    return ends;
}

// So that the link is up before the machine starts, as a card's is. A back-end that takes longer connects
// later.
void wait_for_link() {
    const std::uint64_t begin = backend::now();
    constexpr std::uint64_t longest = 5'000'000'000;
    while (!backend::network_is_up() && !vif.is_closed() && backend::now() - begin < longest) {
        wait_for(domain.info->store_evtchn, longest);
    }
}

} // namespace

void start_network() {
    Xenstore* const store = domain_store();
    is_there = store != nullptr && vif.find(*store);
    if (!is_there) {
        return;
    }
    port = allocate_port(vif.backend());
    listen(port);
    vif.offer(make_rings());
    wait_for_link();
}

} // namespace previrt::xen

namespace previrt::backend {

using namespace xen;

std::optional<NetworkAddress> network_address() {
    return is_there ? std::optional(vif.address()) : std::nullopt;
}

bool network_is_up() {
    const bool is_connected = vif.is_connected();
    transmit.send_pieces(vif.takes_pieces());
    if (vif.is_closed()) {
        transmit.give_up(); // no response will free its rooms
    }
    return is_connected && !transmit.is_broken() && !receive.is_broken();
}

bool takes_unfinished_packets() {
    return vif.takes_unfinished();
}

std::span<std::uint8_t> packet_room(std::uint32_t least) {
    const std::span<std::uint8_t> room = transmit.room(least);
    return !room.empty() || transmit.wait() ? room : transmit.room(least);
}

void send_packet(std::uint32_t bytes, const ethernet::Unfinished& left) {
    packets_unsent += transmit.send(bytes, left) ? 0 : 1;
}

std::optional<ReceivedPacket> received_packet() {
    const std::optional<ReceivedPacket> packet = receive.next();
    return packet || receive.wait() ? packet : receive.next();
}

void release_packet() {
    receive.release();
}

void notify_packets() {
    counters.packets_lost = packets_unsent + transmit.refused() + receive.refused();
    // Call both, because each publishes new requests.
    const bool transmitter_waits = transmit.push();
    const bool receiver_waits = receive.push();
    if (transmitter_waits || receiver_waits) {
        ++counters.packet_calls;
        notify(port);
    }
}

} // namespace previrt::backend
