// SPDX-License-Identifier: BSD-2-Clause
#pragma once

#include <cstdint>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

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

// A guest whose kernel its place can run; with the options that it was prepared for.
using PreparedRun = std::function<RunStatus(const RunOptions& options)>;

// What makes a place work where guests can run.
struct PlaceFinding {
    std::string found;
    std::string isolation; // who is kept from whom
};

struct PlaceReport {
    std::string name; // of --on
    std::string description;
    bool works;
    PlaceFinding finding; // where it works
    std::string refusal;  // where it does not: what run_guest throws
};

// Tries all of them.
std::vector<PlaceReport> probe_places();
// What `auto` stands for, where nothing else is asked for.
std::string automatic_place();

// Runs a kernel until it ends. Throws InputError for what cannot be run.
RunStatus run_guest(const RunOptions& options);
// Says what cannot be run. Of those who do not read standard error none keeps it from its end.
RunStatus run_guest_of_command(const RunOptions& options);

} // namespace previrt
