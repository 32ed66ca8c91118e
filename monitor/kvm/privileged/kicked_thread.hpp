// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include "monitor/guest/kick_signal.hpp"

#include <csignal>
#include <mutex>
#include <optional>
#include <pthread.h>

namespace previrt {

// A thread that others interrupt by the calling signal, as long as there is one.
class KickedThread {
public:
    // The thread itself.
    void begin() {
        const std::lock_guard guard(mutex_);
        thread_ = pthread_self();
    }
    void end() {
        const std::lock_guard guard(mutex_);
        thread_.reset();
    }
    // Another one.
    void kick() const {
        const std::lock_guard guard(mutex_);
        if (thread_) {
            pthread_kill(*thread_, calling_signal());
        }
    }

private:
    mutable std::mutex mutex_;
    std::optional<pthread_t> thread_;
};

} // namespace previrt
