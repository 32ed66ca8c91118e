// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/disk/call_workers.hpp"

#include "monitor/guest/confinement.hpp"
#include "monitor/guest/guest_threads.hpp"

#include <cerrno>
#include <fcntl.h>
#include <sys/eventfd.h>
#include <unistd.h>

namespace previrt {

namespace {

std::int64_t outcome(std::int64_t result) {
    return result < 0 ? -errno : result;
}

} // namespace

CallWorkers::CallWorkers(int file, int overlay) : file_(file), overlay_(overlay), finished_(make_event()) {}

CallWorkers::~CallWorkers() {
    {
        const std::lock_guard lock(mutex_);
        ends_ = true;
    }
    has_work_.notify_all();
    for (std::thread& worker : workers_) {
        worker.join();
    }
}

void CallWorkers::begin() {
    while (workers_.size() < most_workers) {
        workers_.emplace_back([this] {
            confine_disk_worker(file_, overlay_);
            work();
        });
    }
}

void CallWorkers::start(unsigned slot, const FileOperation& operation) {
    {
        const std::lock_guard lock(mutex_);
        waiting_.push_back({.slot = slot, .operation = operation});
    }
    has_work_.notify_one();
}

void CallWorkers::add(const FileResult& result) {
    const std::lock_guard lock(mutex_);
    results_.push_back(result);
}

bool CallWorkers::has_result() {
    const std::lock_guard lock(mutex_);
    return !results_.empty();
}

std::optional<FileResult> CallWorkers::next() {
    const std::lock_guard lock(mutex_);
    if (results_.empty()) {
        return {};
    }
    const FileResult result = results_.front();
    results_.pop_front();
    return result;
}

void CallWorkers::work() {
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

std::int64_t CallWorkers::call(const FileOperation& operation) const {
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

} // namespace previrt
