// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/network/packet_relay.hpp"

#include "host/input_error.hpp"
#include "monitor/network/cable_signals.hpp"
#include "monitor/network/frame.hpp"

#include <array>
#include <cerrno>
#include <csignal>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace previrt {

namespace {

constexpr int longest_batch = 64; // frames; then the guest is called and the other direction gets its turn

constexpr timespec no_time{};
constexpr timespec pace{.tv_sec = 0, .tv_nsec = std::chrono::nanoseconds(StreamPace::wait).count()};

bool is_gone(int error) {
    return error == EPIPE || error == ECONNRESET || error == ENOTCONN || error == EBADF || error == EBADFD;
}

// A write to a closed socket must be an error, and no signal.
void hold_pipe_signal() {
    sigset_t held;
    sigemptyset(&held);
    sigaddset(&held, SIGPIPE);
    pthread_sigmask(SIG_BLOCK, &held, nullptr);
}

} // namespace

PacketRelay::PacketRelay(const PacketEvents& events, const PacketEnd& end, monitored::PacketRing& sent,
                         monitored::PacketRing& received, std::function<void()> call_guest,
                         std::function<void(bool up)> link_changed)
    : events_(events), end_(end), sent_(sent), received_(received), call_guest_(std::move(call_guest)),
      link_changed_(std::move(link_changed)) {}

void PacketRelay::run() {
    hold_pipe_signal();
    bool lives = true;
    while (lives) {
        const Stop sending = send();
        const Stop receiving = receive();
        call_if_asked();
        lives = rest(sending, receiving);
    }
    send(); // the guest's last packets
}

PacketRelay::Stop PacketRelay::send() {
    for (int i = 0; i < longest_batch; ++i) {
        const auto packet = sent_.next();
        if (!packet) {
            return Stop::nothing;
        }
        if (packet->bytes.size() < frame_header || !link_is_up()) {
            ++counts_.sent_dropped;
        } else if (!end_has_room_ || write_packet(*packet) == Stop::no_room) {
            return Stop::no_room;
        }
        sent_.release();
        pace_.count_frame();
    }
    return Stop::bound;
}

// The guest can still change the packet: the kernel reads it once, and sends that.
PacketRelay::Stop PacketRelay::write_packet(const monitored::RingPacket& packet) {
    const ethernet::Unfinished& left = packet.state.left;
    if (end_.write(packet.bytes, left) >= 0) {
        const FrameCount count = count_frames(packet.bytes, left.segment_bytes);
        counts_.sent += count.frames;
        counts_.sent_bytes += count.bytes;
        return Stop::nothing;
    }
    if (errno == EAGAIN || errno == EINTR) {
        end_has_room_ = errno == EINTR;
        return Stop::no_room;
    }
    ++counts_.sent_dropped; // for example, a tap that is down takes none
    if (is_gone(errno)) {
        lose_end();
    }
    return Stop::nothing;
}

void PacketRelay::lose_end() {
    end_lost_ = true;
    ++counts_.ends_lost;
    link_changed_(false);
    eventfd_write(events_.lost.number(), 1);
}

void PacketRelay::use_restored_end() {
    eventfd_t count = 0;
    eventfd_read(events_.restored.number(), &count);
    end_lost_ = false;
    end_has_frames_ = true;
    end_has_room_ = true;
    link_changed_(link_is_up());
}

void PacketRelay::follow_cable() {
    if (const std::optional<bool> plugged = read_cable_signals(events_.cable)) {
        cable_in_ = *plugged;
        link_changed_(link_is_up());
    }
}

PacketRelay::Stop PacketRelay::receive() {
    for (int i = 0; i < longest_batch; ++i) {
        if (!end_has_frames_ || end_lost_) {
            return Stop::nothing;
        }
        std::span<std::uint8_t> room = received_.reserve(end_.longest());
        if (room.empty()) {
            return Stop::no_room;
        }
        room = room.first(end_.longest());
        monitored::PacketState state{};
        const ssize_t got = end_.read(room, state);
        if (got >= static_cast<ssize_t>(frame_header) && cable_in_) {
            // Before the VMM has the packet, because it cuts the packet into frames in place.
            const FrameCount count =
                count_frames(room.first(static_cast<std::size_t>(got)), state.left.segment_bytes);
            received_.commit(static_cast<std::uint32_t>(got), state);
            pace_.count_frame();
            counts_.received += count.frames;
            counts_.received_bytes += count.bytes;
        } else if (got > 0) {
            ++counts_.received_dropped;
        } else if (got < 0 && errno == EAGAIN) {
            end_has_frames_ = false;
        } else if (got == 0 || errno != EINTR) {
            lose_end();
        }
    }
    return Stop::bound;
}

void PacketRelay::call_if_asked() {
    if (monitored::must_call(received_, sent_)) {
        ++counts_.calls;
        call_guest_();
    }
}

// Asks for a doorbell unless there is a packet. A false counter without a packet counts as nothing: otherwise
// a guest could keep this thread from sleeping.
bool PacketRelay::guest_has_sent() {
    return !sent_.wait() && sent_.next();
}

// False: the guest has ended.
bool PacketRelay::rest(Stop sending, Stop receiving) {
    const bool goes_on = sending == Stop::bound || receiving == Stop::bound;
    if (!goes_on && pace_.waits(StreamPace::Clock::now())) {
        return wait_for_stream();
    }
    return sleep(sending, receiving);
}

bool PacketRelay::wait_for_stream() {
    std::array<pollfd, 2> waiting = {{{.fd = events_.ended.number(), .events = POLLIN, .revents = 0},
                                      {.fd = events_.cable.number(), .events = POLLIN, .revents = 0}}};
    end_has_frames_ = true; // there may be some after the wait
    end_has_room_ = true;
    if (ppoll(waiting.data(), waiting.size(), &pace, nullptr) > 0) {
        follow_cable();
    }
    return waiting[0].revents == 0;
}

// Until there is work.
bool PacketRelay::sleep(Stop sending, Stop receiving) {
    if (sending == Stop::no_room && end_has_room_) {
        sending = Stop::bound;
    }
    if (sending == Stop::nothing && guest_has_sent()) {
        sending = Stop::bound;
    }
    if (receiving == Stop::no_room && !received_.wait(end_.longest())) {
        receiving = Stop::bound;
    }
    const bool goes_on = sending == Stop::bound || receiving == Stop::bound;
    return await(receiving == Stop::nothing && !end_lost_, sending == Stop::no_room && !end_lost_,
                 goes_on ? &no_time : nullptr);
}

bool PacketRelay::await(bool frames, bool room, const timespec* limit) {
    std::array<pollfd, 5> waiting = {
        {{.fd = events_.ended.number(), .events = POLLIN, .revents = 0},
         {.fd = events_.sent.number(), .events = POLLIN, .revents = 0},
         {.fd = events_.cable.number(), .events = POLLIN, .revents = 0},
         {.fd = events_.restored.number(), .events = POLLIN, .revents = 0},
         {.fd = frames || room ? end_.number : -1,
          .events = static_cast<short>((frames ? POLLIN : 0) | (room ? POLLOUT : 0)),
          .revents = 0}}};
    if (ppoll(waiting.data(), waiting.size(), limit, nullptr) < 0 && errno != EINTR) {
        throw InputError("poll: " + std::generic_category().message(errno));
    }
    if (waiting[1].revents != 0) {
        eventfd_t count = 0;
        eventfd_read(events_.sent.number(), &count);
        counts_.calls_by_guest += count;
    }
    if (waiting[2].revents != 0) {
        follow_cable();
    }
    if (waiting[3].revents != 0) {
        use_restored_end();
    }
    if (waiting[4].revents != 0) {
        end_has_frames_ = end_has_frames_ || frames;
        end_has_room_ = true;
    }
    return waiting[0].revents == 0;
}

} // namespace previrt
