// SPDX-License-Identifier: BSD-2-Clause
#include "monitor/process/bounds/guest_processes.hpp"

#include "host/input_error.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <charconv>
#include <csignal>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sched.h>
#include <string>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>
#include <utility>

namespace previrt {

namespace {

using std::chrono::nanoseconds;

nanoseconds duration_of(const timespec& time) {
    return std::chrono::seconds(time.tv_sec) + nanoseconds(time.tv_nsec);
}

timespec time_of(nanoseconds duration) {
    const auto seconds = std::chrono::duration_cast<std::chrono::seconds>(duration);
    return {.tv_sec = seconds.count(), .tv_nsec = (duration - seconds).count()};
}

// Linux's number of the clock of a process's processor time.
clockid_t processor_clock(pid_t process) {
    constexpr unsigned number_shift = 3;
    constexpr unsigned exact = 2; // CPUCLOCK_SCHED
    return static_cast<clockid_t>((~static_cast<unsigned>(process) << number_shift) | exact);
}

nanoseconds read_clock(clockid_t clock, nanoseconds otherwise) {
    timespec time{};
    return clock_gettime(clock, &time) == 0 ? duration_of(time) : otherwise;
}

std::string_view read_again(const Descriptor& file, std::array<char, 4096>& into) {
    const ssize_t got = pread(file.number(), into.data(), into.size(), 0);
    return {into.data(), static_cast<std::size_t>(std::max<ssize_t>(got, 0))};
}

} // namespace

std::uint64_t page_tables_in(std::string_view status) {
    constexpr std::string_view name = "VmPTE:";
    const std::size_t line = status.find(name);
    const std::size_t digits =
        line == std::string_view::npos ? line : status.find_first_not_of(" \t", line + name.size());
    std::uint64_t kibibytes = 0;
    if (digits == std::string_view::npos ||
        std::from_chars(status.data() + digits, status.data() + status.size(), kibibytes).ec != std::errc()) {
        throw InputError("/proc does not show the page tables of a process");
    }
    return kibibytes << 10U;
}

GuestProcesses::GuestProcesses(Descriptor directory, pid_t keeper, int signal, nanoseconds each)
    : keeper_(keeper), signal_(signal), each_(each), directory_(std::move(directory)) {
    const std::string number = std::to_string(keeper);
    children_ = open_file(number + "/task/" + number + "/children");
    if (children_.number() < 0) {
        throw InputError("/proc does not show the guest's processes: " +
                         std::generic_category().message(errno));
    }
    std::array<char, 4096> text{};
    (void)page_tables_in(read_again(open_file(number + "/status"), text));
}

GuestProcesses::~GuestProcesses() {
    for (const Process& process : processes_) {
        if (process.has_timer) {
            timer_delete(process.timer);
        }
    }
}

// Not openat, which is refused for the sake of the C library (call_filter.cpp).
Descriptor GuestProcesses::open_file(const std::string& name) const {
    open_how how{};
    how.flags = O_RDONLY | O_CLOEXEC;
    how.resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS;
    return Descriptor(
        static_cast<int>(syscall(SYS_openat2, directory_.number(), name.c_str(), &how, sizeof how)));
}

Look GuestProcesses::look() {
    find_new();
    Look look{.time = read_clock(CLOCK_MONOTONIC, nanoseconds(0)), .processor_time = {}, .page_tables = 0};
    std::array<char, 4096> text{};
    for (Process& process : processes_) {
        const nanoseconds used = read_clock(processor_clock(process.number), process.processor_time);
        if (used != process.processor_time) {
            process.processor_time = used;
            // Linux shows nothing of a process that is about to end; the guest ends with it.
            const std::string_view status = read_again(process.status, text);
            process.page_tables = status.find("VmPTE:") == std::string_view::npos ? process.page_tables
                                                                                  : page_tables_in(status);
        }
        look.processor_time += std::max(process.processor_time, nanoseconds(0));
        look.page_tables += process.page_tables;
    }
    return look;
}

void GuestProcesses::find_new() {
    std::array<char, 4096> text{};
    std::string_view left = read_again(children_, text);
    while (!left.empty()) {
        pid_t number = 0;
        const auto [end, error] = std::from_chars(left.data(), left.data() + left.size(), number);
        if (error == std::errc() &&
            std::ranges::find(processes_, number, &Process::number) == processes_.end()) {
            add(number);
        }
        left.remove_prefix(std::min(left.size(), static_cast<std::size_t>(end - left.data()) + 1));
    }
    if (processor_ >= 0) {
        pin();
    }
}

void GuestProcesses::add(pid_t number) {
    Process process;
    process.number = number;
    process.status = open_file(std::to_string(number) + "/status");
    sigevent event{};
    event.sigev_notify = SIGEV_SIGNAL;
    event.sigev_signo = signal_;
    process.has_timer = timer_create(processor_clock(number), &event, &process.timer) == 0;
    const itimerspec times{.it_interval = time_of(each_), .it_value = time_of(each_)};
    if (!process.has_timer || timer_settime(process.timer, 0, &times, nullptr) != 0) {
        lacks_timers_ = true;
    }
    processes_.push_back(std::move(process));
}

// A random one, so that not all such guests of this machine meet on the same processor.
void GuestProcesses::keep_on_one_processor() {
    cpu_set_t allowed;
    CPU_ZERO(&allowed);
    if (sched_getaffinity(keeper_, sizeof allowed, &allowed) != 0 || CPU_COUNT(&allowed) == 0) {
        return;
    }
    int left = keeper_ % CPU_COUNT(&allowed);
    processor_ = -1;
    do {
        ++processor_;
        left -= CPU_ISSET(processor_, &allowed) ? 1 : 0;
    } while (left >= 0);
    find_new();
}

// The next look finds processes that are made meanwhile.
void GuestProcesses::pin() {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<unsigned>(processor_), &one);
    for (Process& process : processes_) {
        if (!process.is_pinned) {
            process.is_pinned = sched_setaffinity(process.number, sizeof one, &one) == 0;
        }
    }
}

} // namespace previrt
