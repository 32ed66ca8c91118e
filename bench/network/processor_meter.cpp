// SPDX-License-Identifier: BSD-2-Clause
#include "bench/network/processor_meter.hpp"

#include "host/input_error.hpp"

#include <cerrno>
#include <cstdint>
#include <linux/perf_event.h>
#include <sys/syscall.h>
#include <system_error>
#include <unistd.h>

namespace previrt {

namespace {

// Every program that this process starts inherits the counter, and its exec enables it: this process's own
// stays disabled.
int open_counter() {
    perf_event_attr attributes{};
    attributes.type = PERF_TYPE_SOFTWARE;
    attributes.size = sizeof(attributes);
    attributes.config = PERF_COUNT_SW_TASK_CLOCK;
    attributes.disabled = 1;
    attributes.inherit = 1;
    attributes.enable_on_exec = 1;
    constexpr pid_t this_thread = 0;
    constexpr int any_processor = -1;
    constexpr int no_group = -1;
    return static_cast<int>(syscall(SYS_perf_event_open, &attributes, this_thread, any_processor, no_group,
                                    PERF_FLAG_FD_CLOEXEC));
}

} // namespace

ProcessorMeter::ProcessorMeter() : counter_(open_counter()) {
    if (counter_.number() < 0) {
        throw InputError("perf_event_open: " + std::generic_category().message(errno) +
                         ": processor time needs CAP_PERFMON, or kernel.perf_event_paranoid of at most 2");
    }
}

std::chrono::nanoseconds ProcessorMeter::used() const {
    std::uint64_t nanoseconds = 0;
    if (read(counter_.number(), &nanoseconds, sizeof(nanoseconds)) != sizeof(nanoseconds)) {
        throw InputError("perf_event_open: read: " + std::generic_category().message(errno));
    }
    return std::chrono::nanoseconds(nanoseconds);
}

} // namespace previrt
