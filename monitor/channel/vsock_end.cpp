// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/channel/vsock_end.hpp"

#include <algorithm>
#include <cstring>
#include <utility>

namespace previrt {

using namespace vsock;

namespace {

constexpr int longest_batch = 64;          // packets; then the streams' other direction gets its turn
constexpr std::uint32_t most_sent = 32768; // bytes in one packet to the guest

} // namespace

VsockEnd::VsockEnd(std::uint64_t guest_cid, monitored::PacketRing& sent, monitored::PacketRing& received,
                   std::function<void()> call_guest)
    : guest_cid_(guest_cid), sent_(sent), received_(received), call_guest_(std::move(call_guest)) {}

// Each packet may need an answer: without room for it, the packet waits.
bool VsockEnd::receive() {
    lacks_room_ = false;
    for (int i = 0; i < longest_batch; ++i) {
        cannot_answer_ = received_.reserve(header_bytes).empty();
        if (cannot_answer_) {
            lacks_room_ = true;
            return false;
        }
        const auto packet = sent_.next();
        if (!packet) {
            return false;
        }
        take(*packet);
        sent_.release();
    }
    return true;
}

// The guest can still change the packet: its header is copied first. The guest chooses the payload
// anyway, so a later change of it does no harm.
void VsockEnd::take(const monitored::RingPacket& packet) {
    Header header{};
    if (packet.bytes.size() < sizeof header) {
        return;
    }
    std::memcpy(&header, packet.bytes.data(), sizeof header);
    const std::span<const std::uint8_t> payload = packet.bytes.subspan(sizeof header);
    if (header.src_cid != guest_cid_ || header.dst_cid != host_cid || header.len != payload.size()) {
        return;
    }
    const auto found = std::ranges::find_if(
        streams_, [&](const GuestStream* stream) { return stream->port() == header.dst_port; });
    GuestStream* const stream = found == streams_.end() ? nullptr : *found;
    if (stream == nullptr || header.type != type_stream) {
        if (header.op != op_rst) {
            answer(header, nullptr, op_rst);
        }
    } else if (const std::optional<Operation> operation = stream->take(header, payload)) {
        answer(header, stream, *operation);
    }
}

// A reset goes to the sender of the question, who may have no stream.
void VsockEnd::answer(const Header& question, GuestStream* stream, Operation operation) {
    if (operation != op_rst) {
        send_operation(stream->header(operation));
        stream->was_sent(operation);
        return;
    }
    send_operation({.src_cid = host_cid,
                    .dst_cid = guest_cid_,
                    .src_port = question.dst_port,
                    .dst_port = question.src_port,
                    .len = 0,
                    .type = question.type,
                    .op = op_rst,
                    .flags = 0,
                    .buf_alloc = 0,
                    .fwd_cnt = 0});
}

bool VsockEnd::send_operation(const Header& header) {
    const std::span<std::uint8_t> place = received_.reserve(header_bytes);
    if (place.empty()) {
        lacks_room_ = true;
        return false;
    }
    Header sent = header;
    sent.dst_cid = guest_cid_;
    std::memcpy(place.data(), &sent, sizeof sent);
    received_.commit(header_bytes);
    return true;
}

std::span<std::uint8_t> VsockEnd::room(const GuestStream& stream) {
    const std::uint32_t bytes = std::min(stream.credit(), most_sent);
    if (bytes == 0) {
        return {};
    }
    const std::span<std::uint8_t> place = received_.reserve(header_bytes + bytes);
    lacks_room_ = lacks_room_ || place.empty();
    reserved_ = place;
    return place.empty() ? place : place.subspan(header_bytes, bytes);
}

void VsockEnd::send(GuestStream& stream, std::uint32_t bytes) {
    Header header = stream.header(op_rw, bytes);
    header.dst_cid = guest_cid_;
    std::memcpy(reserved_.data(), &header, sizeof header);
    received_.commit(header_bytes + bytes);
    stream.sent_bytes(bytes);
    stream.was_sent(op_rw);
}

void VsockEnd::finish() {
    for (GuestStream* const stream : streams_) {
        std::optional<Operation> owed;
        while ((owed = stream->next_owed()) && send_operation(stream->header(*owed))) {
            stream->was_sent(*owed);
        }
    }
    if (monitored::must_call(received_, sent_)) {
        call_guest_();
    }
}

// A false counter without a packet counts as nothing: otherwise a guest could keep this thread from sleeping.
bool VsockEnd::wait() {
    const bool no_room = !lacks_room_ || received_.wait(header_bytes + most_sent);
    const bool no_packet = cannot_answer_ || sent_.wait() || !sent_.next();
    return no_room && no_packet;
}

} // namespace previrt
