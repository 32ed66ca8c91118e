// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/process/clock.hpp"

#include "inplace-vmm/processor.hpp"

#include <chrono>
#include <limits>
#include <thread>

namespace previrt {

namespace {

template <typename Clock>
std::uint64_t nanoseconds_of() {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count());
}

// This thread may lose the processor between the two readings: the quickest attempt is the most exact.
template <typename Clock>
ClockReading read_against() {
    constexpr int attempts = 20;
    ClockReading best{};
    std::uint64_t quickest = std::numeric_limits<std::uint64_t>::max();
    for (int i = 0; i < attempts; ++i) {
        const std::uint64_t before = processor::read_time_stamp();
        const std::uint64_t time = nanoseconds_of<Clock>();
        const std::uint64_t took = processor::read_time_stamp() - before;
        if (took < quickest) {
            quickest = took;
            best = {.time_stamp = before + (took / 2), .nanoseconds = time};
        }
    }
    return best;
}

} // namespace

ProcessClock::ProcessClock() : first_(read_against<std::chrono::steady_clock>()) {}

monitored::ClockStart ProcessClock::read() const {
    using namespace std::chrono;
    constexpr auto measured_for = milliseconds(10); // some 50 ns at each end: 10 parts in a million
    std::this_thread::sleep_until(steady_clock::time_point(nanoseconds(first_.nanoseconds)) + measured_for);
    const ClockReading second = read_against<steady_clock>();
    const ClockReading epoch = read_against<system_clock>();
    constexpr std::uint64_t per_millisecond = 1'000'000;
    return {.time_stamp_khz = (second.time_stamp - first_.time_stamp) * per_millisecond /
                              (second.nanoseconds - first_.nanoseconds),
            .epoch_nanoseconds = epoch.nanoseconds,
            .epoch_time_stamp = epoch.time_stamp};
}

} // namespace previrt
