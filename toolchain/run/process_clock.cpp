// SPDX-License-Identifier: BSD-2-Clause
#include "toolchain/run/process_clock.hpp"

#include "inplace-vmm/processor.hpp"

#include <chrono>
#include <limits>
#include <thread>

namespace previrt {

namespace {

struct Reading {
    std::uint64_t time_stamp;
    std::uint64_t nanoseconds;
};

template <typename Clock>
std::uint64_t nanoseconds_of() {
    return static_cast<std::uint64_t>(
        std::chrono::duration_cast<std::chrono::nanoseconds>(Clock::now().time_since_epoch()).count());
}

// We can lose the processor between the two: the quickest of some is the best.
template <typename Clock>
Reading read() {
    constexpr int attempts = 20;
    Reading best{};
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

monitored::ClockStart read_process_clock() {
    using std::chrono::milliseconds;
    constexpr auto measured_for = milliseconds(10); // some 50 ns at each end: 10 parts in a million
    const Reading first = read<std::chrono::steady_clock>();
    std::this_thread::sleep_for(measured_for);
    const Reading second = read<std::chrono::steady_clock>();
    const Reading epoch = read<std::chrono::system_clock>();
    constexpr std::uint64_t per_millisecond = 1'000'000;
    return {.time_stamp_khz = (second.time_stamp - first.time_stamp) * per_millisecond /
                              (second.nanoseconds - first.nanoseconds),
            .epoch_nanoseconds = epoch.nanoseconds,
            .epoch_time_stamp = epoch.time_stamp};
}

} // namespace previrt
