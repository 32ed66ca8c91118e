// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/kvm/privileged/guest_clock.hpp"

#include "host/input_error.hpp"

#include <algorithm>
#include <cerrno>
#include <csignal>
#include <limits>
#include <system_error>
#include <unistd.h>
#include <x86intrin.h>

namespace previrt {

namespace {

constexpr std::uint64_t second = 1'000'000'000;

} // namespace

std::uint64_t TickScale::nanoseconds(std::uint64_t ticks) const {
    __extension__ using Wide = unsigned __int128;
    return static_cast<std::uint64_t>((Wide{ticks} * scale_) >> 32U);
}

GuestClock::GuestClock(const Descriptor& processor, const KvmTime& epoch) : scale_(epoch.time_stamp_khz) {
    // The guest's counter is this processor's with an offset. The quickest of several readings is the most
    // exact.
    constexpr int attempts = 5;
    std::uint64_t quickest = ~std::uint64_t{0};
    std::uint64_t offset = 0;
    for (int i = 0; i < attempts; ++i) {
        const std::uint64_t before = __rdtsc();
        const std::uint64_t guest = read_kvm_time_stamp(processor);
        const std::uint64_t took = __rdtsc() - before;
        if (took < quickest) {
            quickest = took;
            offset = guest - (before + (took / 2));
        }
    }
    epoch_ = epoch.epoch_time_stamp - offset;
}

std::uint64_t GuestClock::now() const {
    const std::uint64_t time = scale_.nanoseconds(__rdtsc() - epoch_);
    return time +
           std::min(ahead_, std::numeric_limits<std::uint64_t>::max() - time); // a guest can say any time
}

void GuestClock::follow(std::uint64_t seen) {
    const std::uint64_t time = now();
    if (seen > time) {
        ahead_ += seen - time; // at most `seen`
    }
}

AlarmClock::AlarmClock(int signal) {
    sigevent event{};
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = signal;
    event._sigev_un._tid = gettid();
    if (timer_create(CLOCK_MONOTONIC, &event, &timer_) != 0) {
        throw InputError("timer_create: " + std::generic_category().message(errno));
    }
}

AlarmClock::~AlarmClock() {
    timer_delete(timer_);
}

void AlarmClock::set(std::optional<std::uint64_t> in) {
    itimerspec when{};
    if (in) {
        const std::uint64_t wait = std::max<std::uint64_t>(*in, 1); // 0 would mean never
        when.it_value.tv_sec = static_cast<time_t>(wait / second);
        when.it_value.tv_nsec = static_cast<long>(wait % second);
    }
    timer_settime(timer_, 0, &when, nullptr);
}

} // namespace previrt
