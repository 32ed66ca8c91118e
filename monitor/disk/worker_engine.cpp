// SPDX-License-Identifier: BSD-2-Clause
#include "host/input_error.hpp"
#include "monitor/disk/engine.hpp"
#include "monitor/guest/confinement.hpp"
#include "monitor/guest/guest_threads.hpp"

#include <array>
#include <cerrno>
#include <condition_variable>
#include <csignal>
#include <deque>
#include <fcntl.h>
#include <mutex>
#include <poll.h>
#include <pthread.h>
#include <sys/eventfd.h>
#include <system_error>
#include <thread>
#include <unistd.h>
#include <vector>

namespace previrt {

namespace {

constexpr unsigned most_workers = 4;

std::int64_t outcome(std::int64_t result) {
    return result < 0 ? -errno : result;
}

// A longer one is copied by a worker, beside others.
constexpr std::uint64_t most_bytes_at_once = std::uint64_t{1} << 16U;

std::uint64_t bytes_of(std::span<const iovec> pieces) {
    std::uint64_t bytes = 0;
    for (const iovec& piece : pieces) {
        bytes += piece.iov_len;
    }
    return bytes;
}

// Threads that each do one call at a time. A read of what Linux has in its memory needs none of them: to wake
// one takes longer.
class WorkerEngine : public DiskEngine {
public:
    WorkerEngine(int file, int overlay, const DiskEvents& events)
        : file_(file), overlay_(overlay), events_(events), finished_(make_event()) {}
    ~WorkerEngine() override {
        {
            const std::lock_guard lock(mutex_);
            ends_ = true;
        }
        has_work_.notify_all();
        for (std::thread& worker : workers_) {
            worker.join();
        }
    }
    WorkerEngine(const WorkerEngine&) = delete;
    WorkerEngine& operator=(const WorkerEngine&) = delete;

    [[nodiscard]] std::string name() const override {
        return std::to_string(most_workers) + " threads with pread and pwrite";
    }

    void begin(pid_t group) override {
        while (workers_.size() < most_workers) {
            workers_.emplace_back([this] {
                confine_disk_worker(file_, overlay_);
                work();
            });
        }
        confine_disk_caller(file_, overlay_, group);
    }

    void start(unsigned slot, const FileOperation& operation) override {
        if (operation.call == FileCall::read && bytes_of(operation.pieces) <= most_bytes_at_once) {
            const ssize_t got = preadv2(file_of(operation), operation.pieces.data(),
                                        static_cast<int>(operation.pieces.size()),
                                        static_cast<off_t>(operation.offset), RWF_NOWAIT);
            if (got > 0) {
                const std::lock_guard lock(mutex_);
                results_.push_back({.slot = slot, .result = got});
                return;
            }
        }
        {
            const std::lock_guard lock(mutex_);
            waiting_.push_back({.slot = slot, .operation = operation});
        }
        has_work_.notify_one();
    }

    Turn turn(bool sleeps) override {
        {
            const std::lock_guard lock(mutex_);
            sleeps = sleeps && results_.empty();
        }
        std::array<pollfd, 3> waiting = {{{.fd = finished_.number(), .events = POLLIN, .revents = 0},
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

    std::optional<FileResult> next() override {
        const std::lock_guard lock(mutex_);
        if (results_.empty()) {
            return {};
        }
        const FileResult result = results_.front();
        results_.pop_front();
        return result;
    }

private:
    struct Work {
        unsigned slot;
        FileOperation operation;
    };

    void work() {
        std::unique_lock lock(mutex_);
        for (;;) {
            has_work_.wait(lock, [this] { return ends_ || !waiting_.empty(); });
            if (waiting_.empty()) {
                return;
            }
            const Work work = waiting_.front();
            waiting_.pop_front();
            lock.unlock();
            const std::int64_t result = call(work.operation);
            lock.lock();
            // The disk's thread takes all results before it sleeps: one event is enough for all of them.
            const bool is_first = results_.empty();
            results_.push_back({.slot = work.slot, .result = result});
            if (is_first) {
                eventfd_write(finished_.number(), 1);
            }
        }
    }

    [[nodiscard]] int file_of(const FileOperation& operation) const {
        return operation.is_overlay ? overlay_ : file_;
    }

    [[nodiscard]] std::int64_t call(const FileOperation& operation) const {
        const int file = file_of(operation);
        const auto offset = static_cast<off_t>(operation.offset);
        const auto count = static_cast<int>(operation.pieces.size());
        switch (operation.call) {
        case FileCall::read:
            return outcome(preadv(file, operation.pieces.data(), count, offset));
        case FileCall::write:
            return outcome(pwritev(file, operation.pieces.data(), count, offset));
        case FileCall::durable_write:
            return outcome(pwritev2(file, operation.pieces.data(), count, offset, RWF_DSYNC));
        case FileCall::synchronize:
            return outcome(fdatasync(file));
        case FileCall::allocate:
            return outcome(fallocate(file, operation.mode, offset, static_cast<off_t>(operation.bytes)));
        }
        return -EINVAL;
    }

    int file_;
    int overlay_;
    DiskEvents events_;
    Descriptor finished_;
    std::mutex mutex_;
    std::condition_variable has_work_;
    std::deque<Work> waiting_;
    std::deque<FileResult> results_;
    bool ends_ = false;
    std::vector<std::thread> workers_;
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
