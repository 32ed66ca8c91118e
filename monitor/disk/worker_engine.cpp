// SPDX-License-Identifier: BSD-2-Clause
#include "host/input_error.hpp"
#include "monitor/disk/call_workers.hpp"
#include "monitor/disk/engine.hpp"
#include "monitor/guest/confinement.hpp"

#include <array>
#include <cerrno>
#include <fcntl.h>
#include <poll.h>
#include <sys/eventfd.h>
#include <system_error>

namespace previrt {

namespace {

// A longer one is copied by a worker, beside others.
constexpr std::uint64_t most_bytes_at_once = std::uint64_t{1} << 16U;

std::uint64_t bytes_of(std::span<const iovec> pieces) {
    std::uint64_t bytes = 0;
    for (const iovec& piece : pieces) {
        bytes += piece.iov_len;
    }
    return bytes;
}

// A read of what Linux has in its memory needs no worker: to wake one takes longer.
class WorkerEngine : public DiskEngine {
public:
    WorkerEngine(int file, int overlay, const DiskEvents& events)
        : file_(file), overlay_(overlay), events_(events), workers_(file, overlay) {}

    [[nodiscard]] std::string name() const override {
        return std::to_string(CallWorkers::most_workers) + " threads with pread and pwrite";
    }

    void begin(const GuestCall& call) override {
        workers_.begin();
        confine_disk_caller(file_, overlay_, call);
    }

    void start(unsigned slot, const FileOperation& operation) override {
        if (operation.call == FileCall::read && bytes_of(operation.pieces) <= most_bytes_at_once) {
            const ssize_t got = preadv2(workers_.file_of(operation), operation.pieces.data(),
                                        static_cast<int>(operation.pieces.size()),
                                        static_cast<off_t>(operation.offset), RWF_NOWAIT);
            if (got > 0) {
                workers_.add({.slot = slot, .result = got});
                return;
            }
        }
        workers_.start(slot, operation);
    }

    Turn turn(bool sleeps) override {
        sleeps = sleeps && !workers_.has_result();
        std::array<pollfd, 3> waiting = {{{.fd = workers_.finished(), .events = POLLIN, .revents = 0},
                                          {.fd = events_.called, .events = POLLIN, .revents = 0},
                                          {.fd = events_.ended, .events = POLLIN, .revents = 0}}};
        if (poll(waiting.data(), waiting.size(), sleeps ? -1 : 0) < 0 && errno != EINTR) {
            throw InputError("poll: " + std::generic_category().message(errno));
        }
        eventfd_t count = 0;
        for (const pollfd& event : {waiting[0], waiting[1]}) {
            if (event.revents != 0) {
                eventfd_read(event.fd, &count);
            }
        }
        return {.was_called = waiting[1].revents != 0, .has_ended = waiting[2].revents != 0};
    }

    std::optional<FileResult> next() override { return workers_.next(); }

private:
    int file_;
    int overlay_;
    DiskEvents events_;
    CallWorkers workers_;
};

} // namespace

std::unique_ptr<DiskEngine> make_worker_engine(int file, int overlay, const DiskEvents& events) {
    return std::make_unique<WorkerEngine>(file, overlay, events);
}

std::unique_ptr<DiskEngine> make_disk_engine(int file, int overlay, const DiskEvents& events) {
    try {
        return make_ring_engine(file, overlay, events);
    } catch (const InputError&) { // seccomp, kernel.io_uring_disabled, or a kernel before 5.13
        return make_worker_engine(file, overlay, events);
    }
}

} // namespace previrt
