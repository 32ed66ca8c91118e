// SPDX-License-Identifier: BSD-2-Clause
#include "host/input_error.hpp"
#include "inplace-vmm/backend/disks.hpp"
#include "monitor/disk/call_workers.hpp"
#include "monitor/disk/copy_rooms.hpp"
#include "monitor/disk/engine.hpp"
#include "monitor/guest/confinement.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <deque>
#include <fcntl.h>
#include <libnbd.h>
#include <memory>
#include <poll.h>
#include <sys/eventfd.h>
#include <system_error>
#include <vector>

namespace previrt {

namespace {

// Twice as many as the daemon does at once.
constexpr unsigned rooms = 32;
// A request of zeros has 32 bits for its length.
constexpr std::uint64_t most_zeros_at_once = std::uint64_t{1} << 30U;

struct CloseHandle {
    void operator()(nbd_handle* handle) const { nbd_close(handle); }
};
using Handle = std::unique_ptr<nbd_handle, CloseHandle>;

Handle connect(Descriptor connection) {
    Handle handle(nbd_create());
    // The rooms hold bytes of this disk alone.
    if (!handle || nbd_set_pread_initialize(handle.get(), false) != 0) {
        throw InputError(std::string("--disk: libnbd: ") + nbd_get_error());
    }
    const int number = fcntl(connection.number(), F_DUPFD_CLOEXEC, 0); // which libnbd closes
    connection.close();
    if (number < 0 || nbd_connect_socket(handle.get(), number) != 0) {
        throw InputError(std::string("--disk: the daemon of the image does not answer: ") + nbd_get_error());
    }
    return handle;
}

// Requests to qemu-storage-daemon. The overlay is a file of this process.
class ImageEngine : public DiskEngine {
public:
    ImageEngine(Descriptor connection, int overlay, const DiskEvents& events,
                std::chrono::milliseconds patience)
        : events_(events), patience_(static_cast<int>(patience.count())),
          rooms_(rooms, backend::most_request_bytes), calls_(slots), handle_(connect(std::move(connection))) {
        for (unsigned slot = 0; slot < slots; ++slot) {
            calls_[slot].engine = this;
            calls_[slot].slot = slot;
        }
        completed_.reserve(slots);
        if (overlay >= 0) {
            overlay_ = std::make_unique<CallWorkers>(-1, overlay);
        }
    }

    [[nodiscard]] std::string name() const override { return "qemu-storage-daemon"; }

    void begin(const GuestCall& call) override {
        if (overlay_) {
            overlay_->begin();
        }
        confine_image_thread(nbd_aio_get_fd(handle_.get()), rooms_.number(), call);
    }

    void start(unsigned slot, const FileOperation& operation) override {
        if (operation.is_overlay) {
            overlay_->start(slot, operation);
            return;
        }
        calls_[slot].operation = operation;
        waiting_.push_back(slot);
        send_waiting();
    }

    Turn turn(bool sleeps) override {
        sleeps = sleeps && results_.empty() && !(overlay_ && overlay_->has_result());
        const unsigned direction = is_lost_ ? 0 : nbd_aio_get_direction(handle_.get());
        const auto wanted = static_cast<short>(((direction & LIBNBD_AIO_DIRECTION_READ) != 0 ? POLLIN : 0) |
                                               ((direction & LIBNBD_AIO_DIRECTION_WRITE) != 0 ? POLLOUT : 0));
        std::array<pollfd, 4> ready = {
            {{.fd = is_lost_ ? -1 : nbd_aio_get_fd(handle_.get()), .events = wanted, .revents = 0},
             {.fd = overlay_ ? overlay_->finished() : -1, .events = POLLIN, .revents = 0},
             {.fd = events_.called, .events = POLLIN, .revents = 0},
             {.fd = has_ended_ ? -1 : events_.ended, .events = POLLIN, .revents = 0}}};
        const int wait = has_ended_ ? patience_ : -1;
        const int count = poll(ready.data(), ready.size(), sleeps ? wait : 0);
        if (count < 0 && errno != EINTR) {
            throw InputError("poll: " + std::generic_category().message(errno));
        }
        eventfd_t value = 0;
        for (const pollfd& event : {ready[1], ready[2]}) {
            if (event.revents != 0) {
                eventfd_read(event.fd, &value);
            }
        }
        has_ended_ = has_ended_ || ready[3].revents != 0;
        if (ready[0].revents != 0) {
            move(direction, ready[0].revents);
        } else if (count == 0 && sleeps) {
            give_up();
        }
        send_waiting();
        return {.was_called = ready[2].revents != 0, .has_ended = has_ended_};
    }

    std::optional<FileResult> next() override {
        if (results_.empty()) {
            return overlay_ ? overlay_->next() : std::nullopt;
        }
        const FileResult result = results_.front();
        results_.pop_front();
        return result;
    }

    [[nodiscard]] bool has_lost_disk() const override { return is_lost_; }

private:
    // Of a slot.
    struct Call {
        ImageEngine* engine;
        unsigned slot;
        FileOperation operation;
        unsigned room;
        bool has_room;
        bool is_sent;
        std::int64_t bytes; // of data
        int error;
    };

    [[nodiscard]] static bool has_data(const Call& call) {
        return call.operation.call != FileCall::synchronize && call.operation.call != FileCall::allocate;
    }

    // Requests are sent in the guest's order, each as soon as there is room for its data.
    void send_waiting() {
        do {
            take_completed();
            while (!waiting_.empty() && (rooms_.has_free() || !has_data(calls_[waiting_.front()]))) {
                const unsigned slot = waiting_.front();
                waiting_.pop_front();
                send(calls_[slot]);
            }
        } while (!completed_.empty());
    }

    void send(Call& call) {
        call.bytes = 0;
        call.has_room = has_data(call);
        if (call.has_room) {
            call.room = rooms_.take();
            for (const iovec& piece : call.operation.pieces) {
                call.bytes += static_cast<std::int64_t>(piece.iov_len);
            }
            if (call.operation.call != FileCall::read) {
                const std::int64_t copied = rooms_.copy_in(call.room, call.operation.pieces);
                if (copied != call.bytes) {
                    finish(call, copied < 0 ? copied : -EFAULT);
                    return;
                }
            }
        }
        call.is_sent = true;
        if (is_lost_ || send_command(call) < 0) {
            call.is_sent = false;
            note_loss();
            finish(call, -EIO);
        }
    }

    std::int64_t send_command(Call& call) {
        const FileOperation& operation = call.operation;
        const nbd_completion_callback completion{.callback = &complete, .user_data = &call, .free = nullptr};
        void* const room = call.has_room ? rooms_.bytes(call.room).data() : nullptr;
        const auto bytes = static_cast<std::size_t>(call.bytes);
        switch (operation.call) {
        case FileCall::read:
            return nbd_aio_pread(handle_.get(), room, bytes, operation.offset, completion, 0);
        case FileCall::write:
            return nbd_aio_pwrite(handle_.get(), room, bytes, operation.offset, completion, 0);
        case FileCall::durable_write:
            return nbd_aio_pwrite(handle_.get(), room, bytes, operation.offset, completion,
                                  LIBNBD_CMD_FLAG_FUA);
        case FileCall::synchronize:
            return nbd_aio_flush(handle_.get(), completion, 0);
        case FileCall::allocate:
            break;
        }
        // A trim might leave the bytes as they are: a hole in which zeros are read is a write of zeros that
        // may free.
        const bool frees = (operation.mode & FALLOC_FL_PUNCH_HOLE) != 0;
        return nbd_aio_zero(handle_.get(), std::min(operation.bytes, most_zeros_at_once), operation.offset,
                            completion, frees ? 0 : LIBNBD_CMD_FLAG_NO_HOLE);
    }

    // By libnbd, in a call of this thread, with the handle's lock. The type is libnbd's.
    // NOLINTNEXTLINE(readability-non-const-parameter)
    static int complete(void* call_of_slot, int* error) {
        Call& call = *static_cast<Call*>(call_of_slot);
        call.error = *error;
        call.engine->completed_.push_back(call.slot);
        return 1; // libnbd forgets the request
    }

    void take_completed() {
        for (const unsigned slot : completed_) {
            Call& call = calls_[slot];
            FileOperation& operation = call.operation;
            call.is_sent = false;
            if (call.error != 0) {
                note_loss();
                finish(call, is_lost_ ? -EIO : error_of(call.error));
            } else if (operation.call == FileCall::read) {
                finish(call, rooms_.copy_out(call.room, operation.pieces));
            } else if (operation.call == FileCall::allocate && operation.bytes > most_zeros_at_once) {
                operation.bytes -= most_zeros_at_once;
                operation.offset += most_zeros_at_once;
                waiting_.push_back(slot);
            } else {
                finish(call, call.bytes);
            }
        }
        completed_.clear();
    }

    // The daemon's word. Those that ask for another try would never end.
    static std::int64_t error_of(int error) {
        return error == EINTR || error == EAGAIN || error < 0 ? -EIO : -std::int64_t{error};
    }

    void finish(Call& call, std::int64_t result) {
        if (call.has_room) {
            rooms_.give_back(call.room);
            call.has_room = false;
        }
        results_.push_back({.slot = call.slot, .result = result});
    }

    void move(unsigned direction, short ready) {
        if ((direction & LIBNBD_AIO_DIRECTION_READ) != 0 && (ready & (POLLIN | POLLHUP | POLLERR)) != 0) {
            nbd_aio_notify_read(handle_.get());
        } else {
            nbd_aio_notify_write(handle_.get());
        }
        note_loss();
    }

    // libnbd ends all requests with an error then.
    void note_loss() {
        is_lost_ = is_lost_ || nbd_aio_is_dead(handle_.get()) > 0 || nbd_aio_is_closed(handle_.get()) > 0;
    }

    // The daemon answers no more. Nobody calls libnbd again, so that it does not touch the rooms.
    void give_up() {
        is_lost_ = true;
        for (Call& call : calls_) {
            if (call.is_sent) {
                call.is_sent = false;
                finish(call, -EIO);
            }
        }
    }

    DiskEvents events_;
    int patience_; // milliseconds
    CopyRooms rooms_;
    std::vector<Call> calls_;
    std::vector<unsigned> completed_;
    std::deque<unsigned> waiting_;
    std::deque<FileResult> results_;
    std::unique_ptr<CallWorkers> overlay_; // nullptr: there is none
    bool is_lost_ = false;
    bool has_ended_ = false;
    Handle handle_; // the last: its end calls `complete`
};

} // namespace

std::unique_ptr<DiskEngine> make_image_engine(Descriptor connection, int overlay, const DiskEvents& events,
                                              std::chrono::milliseconds patience) {
    return std::make_unique<ImageEngine>(std::move(connection), overlay, events, patience);
}

} // namespace previrt
