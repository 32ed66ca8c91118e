// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/channel/guest_stream.hpp"

#include <algorithm>
#include <utility>

namespace previrt {

using namespace vsock;

GuestStream::GuestStream(std::uint32_t port, Receive receive) : port_(port), receive_(std::move(receive)) {}

std::uint32_t GuestStream::credit() const {
    const std::uint32_t under_way = sent_ - guest_took_;
    return is_open() && is_read() && under_way < guests_room_
               ? std::min(guests_room_ - under_way, most_payload)
               : 0;
}

void GuestStream::keep(std::uint64_t bytes) {
    passed_on_ = received_ - static_cast<std::uint32_t>(bytes);
}

void GuestStream::end_sending() {
    owes_end_ = owes_end_ || (is_open() && !sends_no_more_);
    sends_no_more_ = true;
}

void GuestStream::close() {
    owes_reset_ = owes_reset_ || is_open();
    state_ = State::closed;
}

std::optional<Operation> GuestStream::take(const Header& header, std::span<const std::uint8_t> payload) {
    if (header.op == op_request) {
        return open(header);
    }
    if (!is_open() || header.src_port != guests_port_) {
        return header.op == op_rst ? std::nullopt : std::optional(op_rst);
    }
    if (header.op == op_rst) {
        state_ = State::closed;
        return {};
    }
    const std::optional<Operation> answer = take_of_open(header, payload);
    if (answer == op_rst) {
        state_ = State::closed;
    }
    return answer;
}

// A second connection is refused; it does not disturb the first one.
std::optional<Operation> GuestStream::open(const Header& header) {
    if (state_ != State::waiting) {
        return op_rst;
    }
    state_ = State::open;
    guests_port_ = header.src_port;
    guests_room_ = header.buf_alloc;
    guest_took_ = header.fwd_cnt;
    sent_ = header.fwd_cnt;
    owes_end_ = sends_no_more_;
    return op_response;
}

std::optional<Operation> GuestStream::take_of_open(const Header& header,
                                                   std::span<const std::uint8_t> payload) {
    if (!take_credit(header)) {
        return op_rst;
    }
    switch (header.op) {
    case op_rw:
        return take_bytes(payload) ? std::nullopt : std::optional(op_rst);
    case op_credit_update:
        return {};
    case op_credit_request:
        return op_credit_update;
    case op_shutdown:
        guest_reads_no_more_ = guest_reads_no_more_ || (header.flags & shutdown_receive) != 0;
        guest_sends_no_more_ = guest_sends_no_more_ || (header.flags & shutdown_send) != 0;
        return guest_reads_no_more_ && guest_sends_no_more_ ? std::optional(op_rst) : std::nullopt;
    default:
        return op_rst;
    }
}

// The guest cannot have taken more than was sent, nor less than it has said before.
bool GuestStream::take_credit(const Header& header) {
    if (sent_ - header.fwd_cnt > sent_ - guest_took_) {
        return false;
    }
    guest_took_ = header.fwd_cnt;
    guests_room_ = header.buf_alloc;
    return true;
}

bool GuestStream::take_bytes(std::span<const std::uint8_t> payload) {
    if (guest_sends_no_more_ || payload.size() > room - (received_ - passed_on_)) {
        return false;
    }
    received_ += static_cast<std::uint32_t>(payload.size());
    passed_on_ = received_; // unless the receiver says otherwise
    receive_(payload);
    return true;
}

std::optional<Operation> GuestStream::next_owed() const {
    if (owes_reset_) {
        return op_rst;
    }
    if (!is_open()) {
        return {};
    }
    if (owes_end_) {
        return op_shutdown;
    }
    // Early enough that a guest that sends without a pause never waits.
    return passed_on_ - told_ >= room / 4 ? std::optional(op_credit_update) : std::nullopt;
}

void GuestStream::was_sent(Operation operation) {
    told_ = passed_on_; // every header says it
    owes_end_ = owes_end_ && operation != op_shutdown;
    owes_reset_ = owes_reset_ && operation != op_rst;
}

Header GuestStream::header(Operation operation, std::uint32_t bytes) const {
    return {.src_cid = host_cid,
            .dst_cid = 0, // the end's
            .src_port = port_,
            .dst_port = guests_port_,
            .len = bytes,
            .type = type_stream,
            .op = operation,
            .flags = operation == op_shutdown ? shutdown_send : 0,
            .buf_alloc = room,
            .fwd_cnt = passed_on_};
}

} // namespace previrt
