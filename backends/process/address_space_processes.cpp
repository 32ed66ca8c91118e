// SPDX-License-Identifier: BSD-2-Clause
#include "backends/process/address_space_processes.hpp"

#include "backends/process/domain.hpp"
#include "backends/process/host_changes.hpp"
#include "backends/process/processors.hpp"
#include "backends/process/segments.hpp"
#include "backends/process/system_call.hpp"
#include "backends/process/user_mode/calls.hpp"
#include "inplace-vmm/backend/processors.hpp"
#include "inplace-vmm/backend/time.hpp"
#include "inplace-vmm/counters.hpp"
#include "inplace-vmm/instruction_counts.hpp"
#include "inplace-vmm/stop.hpp"

#include <algorithm>
#include <span>

namespace previrt::process {

extern "C" {
void change_host(Host* from, Host* to);
std::int64_t clone_host(Host* made);
std::int64_t clone_processor(Host* made);
void host_started(Host* self);
std::uint8_t waiting_ignores_events; // 1: a process blocks the monitor's signal while it waits for its turn
}

namespace {

Host hosts[most_hosts];
unsigned host_count;
[[gnu::section("processor")]] Host* current;
[[gnu::section("processor")]] unsigned own_count; // of the processor's host processes
std::uint64_t uses;

// At the bottom of each process's own stack.
Host*& own_host() {
    return *reinterpret_cast<Host**>(private_address);
}

bool is_own(const Host& host) {
    return host.processor == current->processor;
}

Host& least_used_host() {
    Host* least = nullptr;
    for (Host& host : std::span(hosts, host_count)) {
        const bool is_better =
            least == nullptr || (host.space == nullptr && least->space != nullptr) ||
            ((host.space == nullptr) == (least->space == nullptr) && host.last_used < least->last_used);
        if (is_own(host) && &host != current && is_better) {
            least = &host;
        }
    }
    return least == nullptr ? *current : *least; // without a second process it takes one space after another
}

Host new_host(unsigned processor) {
    return {.turn = 0,
            .identity = 0,
            .processor = processor,
            .space = nullptr,
            .user_root = no_root,
            .is_outdated = true,
            .last_used = 0,
            .changes_seen = 0,
            .user_is_outdated = false,
            .isolated_changes_seen = 0,
            .kernel_changes_seen = 0,
            .timer_set_for = no_timer,
            .mapped_ranges = 0,
            .local_table = {},
            .thread_segments = {},
            .turn_time = {}};
}

// Returns 0, or an error number.
std::int64_t make_process(Host& host, std::int64_t (*clone)(Host*)) {
    ++counters.hypercalls[call_make_host];
    count_crossing(call_make_host);
    constexpr std::int64_t interrupted = -4; // while it waited for the monitor's permission
    std::int64_t identity = interrupted;
    while (identity == interrupted) {
        identity = clone(&host);
    }
    if (identity < 0) {
        return -identity;
    }
    host.identity = static_cast<std::int32_t>(identity);
    return 0;
}

// The new process maps the same as the current one.
bool make_host(Host& host) {
    host = new_host(current->processor);
    host.kernel_changes_seen = current->kernel_changes_seen;
    host.mapped_ranges = current->mapped_ranges;
    host.local_table = current->local_table;
    host.thread_segments = current->thread_segments;
    if (make_process(host, clone_host) != 0) {
        return false;
    }
    start_user_calls_of(number_of(host));
    return true;
}

unsigned most_own_hosts() {
    return std::min(handover.most_hosts, most_hosts) / backend::processor_count();
}

Host& host_for(const AddressSpace& space) {
    for (Host& host : std::span(hosts, host_count)) {
        if (host.space == &space && is_own(host)) {
            return host;
        }
    }
    if (current->space == nullptr) {
        return *current;
    }
    for (Host& host : std::span(hosts, host_count)) {
        if (host.space == nullptr && is_own(host)) {
            return host;
        }
    }
    if (own_count < most_own_hosts() && make_host(hosts[host_count])) {
        ++own_count;
        return hosts[host_count++];
    }
    return least_used_host();
}

void leave_space(Host& host) {
    if (host.space == nullptr) {
        return;
    }
    if (--host.space->hosts == 0) {
        forget_address_space(*host.space);
    }
    host.space = nullptr;
    outdate(host);
}

void join_space(Host& host, AddressSpace& space) {
    if (host.space != &space) {
        leave_space(host);
        host.space = &space;
        ++space.hosts;
        host.changes_seen = space.changes.count;
        host.isolated_changes_seen = space.isolated_changes.count;
    }
}

void change_to(Host& host) {
    Host& from = *current;
    ++counters.hypercalls[call_change_host];
    count_crossing(call_change_host);
    end_turn();
    current = &host;
    begin_turn(); // it may have to wait for a processor of the host
    const SegmentState segments = read_segments();
    change_host(&from, &host);
    follow_local_table();
    follow_thread_segments();
    write_segments(segments);
    follow_timer();
}

} // namespace

extern "C" {

// The monitor's signal is for the first processor, but comes to all: another one that waits for a program
// would stop that.
bool is_concerned(std::uint64_t signal) {
    return own_host() == current && (signal != event_signal || current->processor == 0);
}

// The VMM ignores this signal, because another process has the turn. That process may hand the turn to this
// one before the signal of its own timer comes, and the VMM then ignores that signal too. So follow_timer()
// must set this process's timer again.
void forget_expired_timer() {
    own_host()->timer_set_for = no_timer;
}

void host_started(Host* self) {
    own_host() = self;
    start_signals();
}
}

// Its first process is a copy of the present one, but for the processor's own pages.
void make_processor(unsigned processor) {
    Host& host = hosts[host_count++];
    host = new_host(processor);
    host.kernel_changes_seen = current->kernel_changes_seen;
    host.local_table = current->local_table;
    host.thread_segments = current->thread_segments;
    host.turn_time.began = backend::now();
    of_processor(processor, current) = &host;
    of_processor(processor, own_count) = 1;
    start_user_calls_of(number_of(host));
    const std::int64_t error = make_process(host, clone_processor);
    if (error != 0) {
        stop_guest("the host gives no process for another processor; error",
                   static_cast<std::uint64_t>(error));
    }
}

void interrupt_processor(unsigned processor) {
    ++counters.hypercalls[call_interrupt];
    const Host* const host = of_processor(processor, current);
    call_host(call_kill, {.first = static_cast<std::uint64_t>(host->identity), .second = user_signal});
}

void start_hosts() {
    start_address_spaces();
    // With one processor the monitor seldom sends its signal: the processor waits for the monitor, and
    // sleeps.
    waiting_ignores_events = backend::processor_count() != 1 ? 1 : 0;
    host_count = 1;
    own_count = 1;
    current = &hosts[0];
    *current = new_host(0);
    begin_turn();
    current->is_outdated = false;
    host_started(current);
}

Host& current_host() {
    return *current;
}

const Host* current_host_of(unsigned processor) {
    return of_processor(processor, current);
}

unsigned number_of(const Host& host) {
    return static_cast<unsigned>(&host - hosts);
}

void enter_host_of(backend::TableNumber root, backend::TableNumber user_root) {
    if (current->root() != root) {
        AddressSpace& space = address_space_of(root);
        Host& host = host_for(space);
        join_space(host, space);
        if (&host != current) {
            change_to(host);
        }
    }
    current->user_root = user_root;
    current->last_used = ++uses;
    follow_changes();
}

void leave_root(backend::TableNumber root) {
    const AddressSpace* const space = find_address_space(root);
    for (Host& host : std::span(hosts, host_count)) {
        if (space != nullptr && host.space == space) {
            leave_space(host);
        }
    }
}

void outdate(Host& host) {
    host.is_outdated = true;
    outdate_user(host);
}

void outdate_user(Host& host) {
    host.user_is_outdated = true;
}

void outdate_all_hosts() {
    for (Host& host : std::span(hosts, host_count)) {
        outdate(host);
    }
}

} // namespace previrt::process
