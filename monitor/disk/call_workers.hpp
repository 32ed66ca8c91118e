// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "host/program.hpp"
#include "monitor/disk/engine.hpp"

#include <condition_variable>
#include <deque>
#include <mutex>
#include <optional>
#include <thread>
#include <vector>

namespace previrt {

// Threads that each do one call at a time on a disk's files.
class CallWorkers {
public:
    static constexpr unsigned most_workers = 4;

    // -1: there is no such file.
    CallWorkers(int file, int overlay);
    ~CallWorkers();
    CallWorkers(const CallWorkers&) = delete;
    CallWorkers& operator=(const CallWorkers&) = delete;

    // Starts the threads, which confine themselves.
    void begin();
    void start(unsigned slot, const FileOperation& operation);
    // Of a call that needed no worker.
    void add(const FileResult& result);
    // An eventfd: the first result is there. Take all results before you sleep.
    [[nodiscard]] int finished() const { return finished_.number(); }
    [[nodiscard]] bool has_result();
    std::optional<FileResult> next();

    [[nodiscard]] int file_of(const FileOperation& operation) const {
        return operation.is_overlay ? overlay_ : file_;
    }

private:
    struct Work {
        unsigned slot;
        FileOperation operation;
    };

    void work();
    [[nodiscard]] std::int64_t call(const FileOperation& operation) const;

    int file_;
    int overlay_;
    Descriptor finished_;
    std::mutex mutex_;
    std::condition_variable has_work_;
    std::deque<Work> waiting_;
    std::deque<FileResult> results_;
    bool ends_ = false;
    std::vector<std::thread> workers_;
};

} // namespace previrt
