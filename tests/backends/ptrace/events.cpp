// SPDX-License-Identifier: BSD-2-Clause
// The only event is the timer's. An alarm of this program interrupts the child while it runs.
#include "inplace-vmm/backend/events.hpp"
#include "inplace-vmm/backend/time.hpp"
#include "tests/backends/ptrace/child.hpp"
#include "tests/backends/ptrace/events.hpp"

#include <algorithm>
#include <csignal>
#include <ctime>
#include <sys/time.h>
#include <unistd.h>

namespace previrt::traced {

namespace {

constexpr std::uint64_t second = 1'000'000'000;
constexpr std::uint64_t microsecond = 1'000;

std::optional<std::uint64_t> timer;

std::uint64_t time_left() {
    const std::uint64_t now = backend::now();
    return *timer > now ? *timer - now : 0;
}

void set_alarm(std::uint64_t nanoseconds) {
    itimerval value{};
    value.it_value.tv_sec = static_cast<time_t>(nanoseconds / second);
    value.it_value.tv_usec = static_cast<suseconds_t>(nanoseconds % second / microsecond);
    setitimer(ITIMER_REAL, &value, nullptr);
}

} // namespace

void start_events() {
    struct sigaction action{};
    action.sa_handler = [](int /*signal*/) { interrupt_child(); };
    sigaction(SIGALRM, &action, nullptr);
}

void set_alarm_for_timer() {
    if (timer) {
        set_alarm(std::max(time_left(), microsecond)); // 0 would be no alarm
    }
}

void clear_alarm() {
    set_alarm(0);
}

} // namespace previrt::traced

namespace previrt::backend {

using namespace traced;

void set_timer(std::optional<std::uint64_t> when) {
    timer = when;
}

bool take_events() {
    if (!timer || time_left() != 0) {
        return false;
    }
    timer.reset();
    return true;
}

void idle() {
    if (!timer) {
        pause(); // nothing else ever comes
        return;
    }
    const std::uint64_t left = time_left();
    const timespec time{.tv_sec = static_cast<time_t>(left / second),
                        .tv_nsec = static_cast<long>(left % second)};
    nanosleep(&time, nullptr);
}

// Every site that enables interrupts enters the VMM.
void request_attention() {}

} // namespace previrt::backend
