// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "devices/virtio_vsock/packet.hpp"

#include <cstdint>
#include <functional>
#include <optional>
#include <span>

namespace previrt {

// The monitor's end of a stream of bytes to and from a program of the guest. The program connects to a port,
// once in the guest's life. Each side tells the other how many bytes it still takes (credit). A guest that
// breaks a rule loses the stream.
//
// This class knows the stream's state. It sends nothing: VsockEnd sends the operations of next_owed().
class GuestStream {
public:
    // Bytes of the guest's that may be under way to `receive`.
    static constexpr std::uint32_t room = std::uint32_t{1} << 17U;

    using Receive = std::function<void(std::span<const std::uint8_t>)>;
    GuestStream(std::uint32_t port, Receive receive);

    [[nodiscard]] std::uint32_t port() const { return port_; }
    [[nodiscard]] bool is_open() const { return state_ == State::open; }
    [[nodiscard]] bool is_closed() const { return state_ == State::closed; } // for good
    // The guest will send no more.
    [[nodiscard]] bool has_all() const { return is_closed() || guest_sends_no_more_; }
    // The guest takes bytes, or will do so.
    [[nodiscard]] bool is_read() const { return !is_closed() && !guest_reads_no_more_ && !sends_no_more_; }
    // The number of bytes that the guest takes now.
    [[nodiscard]] std::uint32_t credit() const;

    // `receive` has passed on all bytes that it got, except for this many.
    void keep(std::uint64_t bytes);
    // The guest gets nothing more: a reader there finds the end.
    void end_sending();
    // Both directions end, and nothing that is under way arrives.
    void close();

    // ---- for VsockEnd

    // A packet for this port. The answer is an operation to send, if there is one.
    std::optional<vsock::Operation> take(const vsock::Header& header, std::span<const std::uint8_t> payload);
    // An operation that the guest does not know of yet; nullopt: there is none.
    [[nodiscard]] std::optional<vsock::Operation> next_owed() const;
    void was_sent(vsock::Operation operation);
    void sent_bytes(std::uint32_t bytes) { sent_ += bytes; }
    // The header of a packet of this stream.
    [[nodiscard]] vsock::Header header(vsock::Operation operation, std::uint32_t bytes = 0) const;

private:
    enum class State : std::uint8_t { waiting, open, closed };

    std::optional<vsock::Operation> open(const vsock::Header& header);
    std::optional<vsock::Operation> take_of_open(const vsock::Header& header,
                                                 std::span<const std::uint8_t> payload);
    bool take_credit(const vsock::Header& header);
    bool take_bytes(std::span<const std::uint8_t> payload);

    std::uint32_t port_;
    Receive receive_;
    State state_ = State::waiting;
    std::uint32_t guests_port_ = 0;
    bool guest_sends_no_more_ = false;
    bool guest_reads_no_more_ = false;
    bool sends_no_more_ = false;
    bool owes_end_ = false;
    bool owes_reset_ = false;
    // Counters of bytes grow modulo 2^32, as those of the packets.
    std::uint32_t sent_ = 0;
    std::uint32_t guest_took_ = 0;
    std::uint32_t guests_room_ = 0;
    std::uint32_t received_ = 0;
    std::uint32_t passed_on_ = 0;
    std::uint32_t told_ = 0; // of those: the guest knows
};

} // namespace previrt
