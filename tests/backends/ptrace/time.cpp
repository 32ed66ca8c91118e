// SPDX-License-Identifier: BSD-2-Clause
#include "inplace-vmm/backend/time.hpp"
#include "inplace-vmm/processor.hpp"
#include "tests/backends/ptrace/time.hpp"

#include <chrono>
#include <thread>

namespace previrt::traced {

namespace {

using std::chrono::nanoseconds;
using std::chrono::steady_clock;
using std::chrono::system_clock;

steady_clock::time_point start;
std::uint64_t start_after_1970;
std::uint64_t ticks_per_millisecond;

} // namespace

void start_time() {
    constexpr std::uint64_t measured_milliseconds = 20;
    start = steady_clock::now();
    start_after_1970 =
        static_cast<std::uint64_t>(nanoseconds(system_clock::now().time_since_epoch()).count());
    const std::uint64_t first = processor::read_time_stamp();
    std::this_thread::sleep_until(start + std::chrono::milliseconds(measured_milliseconds));
    const std::uint64_t ticks = processor::read_time_stamp() - first;
    constexpr std::uint64_t nanoseconds_per_millisecond = 1'000'000;
    ticks_per_millisecond = ticks * nanoseconds_per_millisecond / backend::now();
}

} // namespace previrt::traced

namespace previrt::backend {

using namespace traced;

std::uint64_t now() {
    return static_cast<std::uint64_t>(nanoseconds(steady_clock::now() - start).count());
}

std::uint64_t time_of_ticks(std::uint64_t ticks) {
    constexpr std::uint64_t nanoseconds_per_millisecond = 1'000'000;
    const std::uint64_t milliseconds = ticks / ticks_per_millisecond;
    const std::uint64_t rest = ticks % ticks_per_millisecond;
    return (milliseconds * nanoseconds_per_millisecond) +
           ((rest * nanoseconds_per_millisecond + ticks_per_millisecond - 1) / ticks_per_millisecond);
}

std::uint64_t epoch() {
    return start_after_1970;
}

std::uint64_t time_stamp_khz() {
    return ticks_per_millisecond;
}

} // namespace previrt::backend
