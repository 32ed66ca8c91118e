// SPDX-License-Identifier: BSD-2-Clause
#include "backends/process/address_space_processes.hpp"

#include "backends/process/domain.hpp"
#include "backends/process/host_changes.hpp"
#include "backends/process/local_table.hpp"
#include "backends/process/segments.hpp"
#include "backends/process/system_call.hpp"
#include "backends/process/user_mode/calls.hpp"
#include "backends/process/user_mode/map.hpp"
#include "inplace-vmm/counters.hpp"
#include "inplace-vmm/stop.hpp"

#include <algorithm>
#include <span>

namespace previrt::process {

extern "C" {
void change_host(Host* from, Host* to);
std::int64_t clone_host(Host* made);
void host_started(Host* self);
}

namespace {

Host hosts[most_hosts];
unsigned host_count;
Host* current;
std::uint64_t uses;

// At the bottom of each process's own stack.
Host*& own_host() {
    return *reinterpret_cast<Host**>(private_address);
}

Host& least_used_host() {
    Host* least = nullptr;
    for (Host& host : std::span(hosts, host_count)) {
        const bool is_better =
            least == nullptr || (host.root == no_root && least->root != no_root) ||
            ((host.root == no_root) == (least->root == no_root) && host.last_used < least->last_used);
        if (&host != current && is_better) {
            least = &host;
        }
    }
    if (least == nullptr) {
        stop_guest("the host gives no second process");
    }
    return *least;
}

// The new process maps the same as the current one.
bool make_host(Host& host) {
    host = {.turn = 0,
            .identity = 0,
            .root = no_root,
            .user_root = no_root,
            .spaces = 0,
            .is_outdated = true,
            .last_used = 0,
            .changes_seen = current->changes_seen,
            .timer_set_for = no_timer,
            .mapped_ranges = current->mapped_ranges,
            .local_table_version = current->local_table_version,
            .local_entries = current->local_entries};
    ++counters.hypercalls[call_make_host];
    constexpr std::int64_t interrupted = -4; // while it waited for the monitor's permission
    std::int64_t identity = interrupted;
    while (identity == interrupted) {
        identity = clone_host(&host);
    }
    if (identity < 0) {
        return false;
    }
    host.identity = static_cast<std::int32_t>(identity);
    start_user_calls_of(number_of(host));
    return true;
}

Host& host_for(backend::TableNumber root) {
    if (Host* const host = host_of(root)) {
        return *host;
    }
    if (current->root == no_root) {
        return *current;
    }
    for (Host& host : std::span(hosts, host_count)) {
        if (host.root == no_root && &host != current) {
            return host;
        }
    }
    if (host_count < std::min(handover.most_hosts, most_hosts) && make_host(hosts[host_count])) {
        return hosts[host_count++];
    }
    return least_used_host();
}

void change_to(Host& host) {
    Host& from = *current;
    ++counters.hypercalls[call_change_host];
    current = &host;
    const SegmentState segments = read_segments();
    change_host(&from, &host);
    follow_local_table();
    write_segments(segments);
    follow_timer();
}

} // namespace

extern "C" {

bool is_current_host() {
    return own_host() == current;
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

void start_hosts() {
    host_count = 1;
    current = &hosts[0];
    *current = {.turn = 0,
                .identity = 0,
                .root = no_root,
                .user_root = no_root,
                .spaces = 0,
                .is_outdated = false,
                .last_used = 0,
                .changes_seen = 0,
                .timer_set_for = no_timer,
                .mapped_ranges = 0,
                .local_table_version = 0,
                .local_entries = 0};
    host_started(current);
}

Host& current_host() {
    return *current;
}

unsigned number_of(const Host& host) {
    return static_cast<unsigned>(&host - hosts);
}

Host* host_of(backend::TableNumber root) {
    for (Host& host : std::span(hosts, host_count)) {
        if (host.root == root) {
            return &host;
        }
    }
    return nullptr;
}

void enter_host_of(backend::TableNumber root, backend::TableNumber user_root) {
    if (current->root != root) {
        Host& host = host_for(root);
        if (host.root != root) {
            if (host.root != no_root) {
                outdate(host);
            }
            host.root = root;
            ++host.spaces;
        }
        if (&host != current) {
            change_to(host);
        }
    }
    current->user_root = user_root;
    current->last_used = ++uses;
    follow_changes();
}

void leave_root(backend::TableNumber root) {
    if (Host* const host = host_of(root)) {
        host->root = no_root;
        outdate(*host);
    }
}

void outdate(Host& host) {
    host.is_outdated = true;
    outdate_user(number_of(host));
}

void outdate_all_hosts() {
    for (Host& host : std::span(hosts, host_count)) {
        outdate(host);
    }
}

} // namespace previrt::process
