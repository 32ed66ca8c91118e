// SPDX-License-Identifier: BSD-2-Clause
#include "inplace-vmm/counters.hpp"

#include "inplace-vmm/instruction_counts.hpp"
#include "inplace-vmm/package.hpp"
#include "inplace-vmm/print.hpp"
#include "previrt/site_kinds.hpp"

#include <span>

namespace previrt {

[[gnu::section(".bss.cache")]] Counters counters;

namespace {

constexpr const char* ways[] = {"inline", "call", "jump", "trap", "native"};

// A comma before every member but the first of an object.
class Members {
public:
    explicit Members(Print& print) : print_(print) {}

    Print& operator()(const char* name) {
        print_ << (first_ ? "\"" : ",\"") << name << "\":";
        first_ = false;
        return print_;
    }
    Print& operator()(std::uint64_t number) {
        print_ << (first_ ? "\"" : ",\"") << number << "\":";
        first_ = false;
        return print_;
    }

private:
    Print& print_;
    bool first_ = true;
};

void print_by_kind(Print& print, std::span<const std::uint64_t, 256> values) {
    print << '{';
    Members member(print);
    for (const SiteKindInfo& info : site_kinds) {
        if (values[static_cast<std::uint8_t>(info.kind)] != 0) {
            member(info.name) << values[static_cast<std::uint8_t>(info.kind)];
        }
    }
    print << '}';
}

void print_by_number(Print& print, std::span<const std::uint64_t> values) {
    print << '{';
    Members member(print);
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (values[i] != 0) {
            member(i) << values[i];
        }
    }
    print << '}';
}

void print_rewritten(Print& print) {
    print << '{';
    Members member(print);
    for (const SiteKindInfo& info : site_kinds) {
        const auto& by_way = counters.rewritten[static_cast<std::uint8_t>(info.kind)];
        std::uint64_t sum = 0;
        for (const std::uint64_t number : by_way) {
            sum += number;
        }
        if (sum == 0) {
            continue;
        }
        member(info.name) << '{';
        Members way(print);
        for (unsigned i = 0; i < static_cast<unsigned>(Way::count); ++i) {
            if (by_way[i] != 0) {
                way(ways[i]) << by_way[i];
            }
        }
        print << '}';
    }
    print << '}';
}

} // namespace

void print_counters() {
    Print print;
    print << counters_line_prefix << '{';
    Members member(print);
    member("sites_rewritten");
    print_rewritten(print);
    member("site_calls");
    print_by_kind(print, counters.calls);
    member("sites_trapped");
    print_by_kind(print, counters.trapped_sites);
    member("exceptions");
    print_by_number(print, counters.exceptions);
    member("delivered");
    print_by_number(print, counters.delivered);
    member("hypercalls");
    print_by_number(print, counters.hypercalls);
    member("hidden_faults") << counters.hidden_faults;
    member("true_faults") << counters.true_faults;
    member("system_calls") << counters.system_calls;
    member("user_returns") << counters.user_returns;
    member("system_calls_rewritten") << counters.system_calls_rewritten;
    member("shadow_tables_made") << counters.tables_made;
    member("shadow_tables_dropped") << counters.tables_dropped;
    member("shadow_tables_evicted") << counters.tables_evicted;
    member("shadow_entries_written") << counters.entries_written;
    member("shadow_pool_exhausted") << counters.pool_exhausted;
    member("unannotated_table_writes") << counters.unannotated_writes;
    member("events_taken") << counters.events_taken;
    member("delivered_at_once") << counters.delivered_at_once;
    member("delivered_at_site") << counters.delivered_at_site;
    member("delivered_at_return") << counters.delivered_at_return;
    member("delivered_at_idle") << counters.delivered_at_idle;
    member("packets_sent") << counters.packets_sent;
    member("packets_received") << counters.packets_received;
    member("packets_lost") << counters.packets_lost;
    member("disk_calls") << counters.disk_calls;
    member("folder_calls") << counters.folder_calls;
    member("floating_ports") << counters.floating_ports;
    member("floating_memory") << counters.floating_memory;
    member("pages_released") << counters.pages_released;
    member("packet_calls") << counters.packet_calls;
    member("disk_requests") << counters.disk_requests;
    member("instructions");
    print_instruction_counts(print);
    print << "}\n";
}

} // namespace previrt
