// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <array>
#include <cstdint>

namespace previrt::process {

// Indices of the counters of host calls.
enum HostCall : std::uint8_t {
    call_make_host,
    call_change_host,
    call_map,
    call_unmap,
    call_protect,
    call_set_timer,
    call_wait,
    call_wake,      // of an idle processor
    call_interrupt, // of one that executes the guest
    call_wait_for_vmm,
    host_call_count,
};
constexpr std::array<const char*, host_call_count> host_call_names = {
    "make a process",        "change to a process", "map pages", "unmap pages",
    "protect pages",         "set the timer",       "wait",      "wake a processor",
    "interrupt a processor", "wait for the VMM"};

} // namespace previrt::process
