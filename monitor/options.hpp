// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>

namespace previrt {

class Messages;

struct RunOptions {
    std::string on = "auto";
    std::string kernel;
    std::string initrd;
    std::string append;
    std::uint64_t memory = std::uint64_t{256} << 20U;
    unsigned cpus = 1;
    std::string net = "none";
    std::string stats;    // a file for the VMM's counters; empty: none
    bool isolate = false; // user mode has memory of its own: under KVM by page tables, in processes by others
                          // beside them
    bool rewrite_system_calls = true; // in a process, under KVM: those made often do not pass the host
    bool rewrite = true;              // else the VMM leaves a guest's instructions as they are
    bool is_own_process = false;      // what calls run_guest has nothing else to do: it gives up all else
    int counters = -1;                // where `stats` is open already; -1: nowhere
    bool require_isolation = false;   // refuse to run with less than all layers between guest and host
    bool strict = false;              // an access that nobody answers ends the guest
    double timeout = 0;               // seconds; 0: none
    bool quiet = false;               // say nothing at the start but what is wrong
    bool verbose = false;             // show what the hypervisor says
    bool deterministic = false;       // count instructions instead of time: the same run twice is identical
    bool watch_console = true;        // standard input and output are the console; else it goes to `console`
    std::function<void(std::string_view)> console;
    Messages* messages = nullptr; // where std::cerr goes; null: it may wait for its reader
    // Told when the kernel has been read and is good, before anything is started.
    std::function<void(const std::string& sha256)> announce = [](const std::string&) {};
};

enum RunStatus : std::uint8_t {
    guest_ended = 0, // powered off or rebooted
    guest_failed = 1,
    run_refused = 2,
    run_timed_out = 124,
};

} // namespace previrt
