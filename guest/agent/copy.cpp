// SPDX-License-Identifier: BSD-2-Clause
#include "guest/agent/copy.hpp"

#include "guest/agent/kernel.hpp"

#include <asm-generic/errno.h>
#include <asm-generic/poll.h>

namespace previrt::agent {

namespace {

constexpr long shutdown_receive = 0;
constexpr long shutdown_send = 1;

bool is_for_later(long result) {
    return result == -EAGAIN || result == -EINTR;
}

} // namespace

void Copy::begin(int from, int to, bool to_monitor, char* room, std::size_t room_bytes) {
    from_ = from;
    to_ = to;
    to_monitor_ = to_monitor;
    room_ = room;
    room_bytes_ = room_bytes;
}

// An idle receiver is watched as well: if it goes, the sender must learn that at its next byte.
Copy::Polls Copy::wanted() const {
    return {.from = is_empty() ? from_ : -1,
            .from_events = POLLIN,
            .to = to_,
            .to_events = static_cast<short>(is_empty() ? 0 : POLLOUT)};
}

void Copy::polled(short from_events, short to_events) {
    if ((to_events & (POLLERR | POLLHUP | POLLNVAL)) != 0 && (to_events & POLLOUT) == 0) {
        begin_ = end_;
        end_to();
        end_from();
        return;
    }
    if (from_events != 0 && is_empty()) {
        fill();
    }
    drain();
}

void Copy::fill() {
    const long got = call(__NR_read, from_, address_of(room_), static_cast<long>(room_bytes_));
    if (got > 0) {
        begin_ = 0;
        end_ = static_cast<std::size_t>(got);
    } else if (!is_for_later(got)) {
        end_from(); // a terminal says EIO when its last user has gone
        end_to();
    }
}

void Copy::drain() {
    while (!is_empty()) {
        const long put = call(__NR_write, to_, address_of(room_ + begin_), static_cast<long>(end_ - begin_));
        if (put > 0) {
            begin_ += static_cast<std::size_t>(put);
        } else {
            if (!is_for_later(put)) {
                begin_ = end_;
                end_to();
                end_from();
            }
            return;
        }
    }
}

void Copy::end_from() {
    if (from_ >= 0 && !to_monitor_) {
        call(__NR_shutdown, from_, shutdown_receive);
    }
    if (from_ >= 0) {
        call(__NR_close, from_);
    }
    from_ = -1;
}

void Copy::end_to() {
    if (to_ >= 0 && to_monitor_) {
        call(__NR_shutdown, to_, shutdown_send);
    }
    if (to_ >= 0 && !to_monitor_) {
        call(__NR_close, to_);
    }
    to_ = -1;
}

void Copy::finish(std::uint64_t most) {
    while (to_ >= 0) {
        drain();
        if (is_empty()) {
            const std::size_t room = room_bytes_;
            room_bytes_ = most < room ? static_cast<std::size_t>(most) : room;
            if (from_ >= 0 && room_bytes_ != 0) {
                fill();
            }
            room_bytes_ = room;
            if (is_empty()) {
                break;
            }
            most -= end_;
            continue;
        }
        pollfd waiting{.fd = to_, .events = POLLOUT, .revents = 0};
        call(__NR_poll, address_of(&waiting), 1, -1);
    }
    end_from();
    end_to();
}

} // namespace previrt::agent
